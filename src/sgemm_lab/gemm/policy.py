"""Choose the fastest algorithm whose recorded error meets a bound.

The algorithms are the dispatcher's kernel in FP32, kernels on tensor cores, and Strassen's product.
This module does not run them.

The error is ‖C − A·B‖ / ‖A·B‖ in the Frobenius norm, A·B in float64. For an algorithm and a K it is
the largest recorded one over the inputs ``STATED_INPUTS``, at the nearest recorded K that is not
smaller. Algorithms without such a record, or whose C held NaN or infinity, are not considered. For
other inputs the error can be larger (chapters 11 and 12).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sgemm_lab.catalogue import book_kernel, load_kernels
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.recorded import predicted_from_record
from sgemm_lab.gemm.strassen.model import (
    WORTH,
    Machine,
    best_plan,
    book_machine,
    predict,
    with_leaf_kernel,
)
from sgemm_lab.gemm.strassen.plan import Plan, default_workspace
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import load_tables
from sgemm_lab.records.gpu_record import CUBLAS, Device, Record
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import (
    STRASSEN,
    STRASSEN_RECORDS,
    Errors,
    StrassenRun,
    latest,
    strassen_over,
)
from sgemm_lab.text import bytes_moved_text, plural, size_text

STATED_INPUTS = ("half", "unit", "normal", "wide")
"""Input distributions for which the bound holds, of ``gpu_record.INPUTS``. Strassen's record uses
the same, except that its wide exponents are ±10, not ±20."""

FP32 = "fp32"
"""Error bound: no less accurate than cuBLAS in FP32."""

Bound = float | str | None
"""The largest allowed error; ``FP32``; or None: the dispatcher's kernel in FP32."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for a product, with its recorded error and predicted time."""

    size: Size
    """M, N, K."""
    kernel: Kernel
    """The kernel; in Strassen's product that of the leaves."""
    plan: Plan | None
    """Of Strassen's product; None for a kernel alone."""
    error: float | None
    """The largest recorded error over the stated inputs; None if none is recorded for this K."""
    seconds: float
    """Predicted time."""
    gpu: str

    @property
    def name(self) -> str:
        """The kernel's name, or "strassen"."""
        return STRASSEN if self.plan else self.kernel.name

    @property
    def arithmetic(self) -> str:
        """Arithmetic of the product: "3xfp16", "strassen", or "strassen+3xfp16"."""
        return strassen_over(self.kernel.arithmetic) if self.plan else self.kernel.arithmetic

    @property
    def workspace_bytes(self) -> int:
        """Workspace of Strassen's product; 0 for a kernel alone."""
        return self.plan.workspace_bytes if self.plan else 0

    def __str__(self) -> str:
        how = f"{self.name} in {self.arithmetic}"
        if self.plan:
            how = f"{STRASSEN}, {plural(self.plan.levels, 'level')} over {self.kernel.name}"
        error = "not recorded at this K" if self.error is None else f"{self.error:.1e}"
        room = f", workspace {bytes_moved_text(self.workspace_bytes)}" if self.plan else ""
        return (
            f"{size_text(self.size)} by {how}: error {error}, {self.seconds * 1e3:.3g} ms "
            f"predicted on {self.gpu}{room}."
        )


@dataclass(frozen=True)
class GpuRecords:
    """The records of a GPU that the choice uses."""

    gpu: Device
    picker: Picker
    machine: Machine
    record: Record
    """Of this GPU, or of another one: errors in FP32 are the same on all."""
    strassen: StrassenRun | None
    """On this GPU."""
    similar: tuple[Record, ...] = ()
    """Of other GPUs of the same compute capability, for kernels that were not measured on this."""

    @property
    def is_recorded(self) -> bool:
        """Whether the record is of this GPU model. If not, only FP32 is considered."""
        return self.record.gpu.name == self.gpu.name


def gpu_records(gpu: Device | None) -> GpuRecords:
    """Return the book's records of a GPU; None: of the first GPU with a table."""
    machine, tables, records = book_machine(gpu), load_tables(), load_records()
    gpu = gpu or tables[0].gpu
    if not records:
        raise LabError("There is no record. Take one with 'sgemm-lab record' on a GPU.")
    same = [record for record in records if record.gpu.name == gpu.name]
    strassen = [latest(one) for one in STRASSEN_RECORDS.load_all() if one.gpu.name == gpu.name]
    return GpuRecords(
        gpu,
        Picker(gpu, tables, lambda kernel: suits(kernel, _target(gpu))),
        machine,
        (same or records)[0],
        strassen[0] if strassen else None,
        tuple(
            one
            for one in records
            if one.gpu.name != gpu.name and one.gpu.compute_capability == gpu.compute_capability
        ),
    )


def check_bound(error: Bound) -> None:
    """Check an error bound."""
    if error is None or (isinstance(error, str) and error == FP32):
        return
    is_number = isinstance(error, int | float) and not isinstance(error, bool)
    if not is_number or not 0 < float(error) < math.inf:
        raise LabError(
            f"error is {error!r}. Give a positive number such as 1e-5, the bound of "
            "‖C − A·B‖ / ‖A·B‖; or 'fp32'; or omit it."
        )


def choose(size: Size, error: Bound, known: GpuRecords, workspace: int | None = None) -> Algorithm:
    """Return the fastest algorithm within an error bound and a workspace in bytes.

    Without a bound it is the dispatcher's kernel in FP32. "fp32" allows that, and algorithms whose
    recorded errors are all at most those of cuBLAS in FP32. The workspace is 1.5 times A, B and C
    unless one is given.

    Raises:
        LabError: the bound or the workspace is invalid, or no recorded algorithm meets the bound.
    """
    check_bound(error)
    if workspace is not None and workspace < 0:
        raise LabError(f"The workspace is {workspace} bytes. Give 0 or more, or omit it.")
    plain = _dispatched(size, known)
    if error is None:
        return plain
    found = [plain] if error == FP32 or _is_within(plain.error, error) else []
    if known.is_recorded:
        found += _tensor_core_algorithms(size, error, known, workspace)
        found += _strassen_algorithms(size, error, known, workspace)
    if not found:
        raise LabError(_no_algorithm_message(size, error, known))
    best = min(found, key=lambda one: one.seconds)
    # Predicted times are off by a few percent, and the choice must not be slower than plain FP32.
    return plain if plain in found and best.seconds * WORTH > plain.seconds else best


def _dispatched(size: Size, known: GpuRecords) -> Algorithm:
    found = known.picker.pick(*size)
    errors = plain_errors(known.record, size[2])
    error = max(errors) if errors else None
    return Algorithm(size, found.kernel, None, error, found.seconds, known.machine.gpu)


def plain_errors(record: Record, k: int) -> list[float]:
    """Return the largest recorded error of an FP32 kernel for each of the stated inputs.

    The maximum includes kernels that add all K terms sequentially, which have the largest errors,
    so it bounds every FP32 kernel. Empty without records.
    """
    found = (
        kernel_errors(record, kernel, k)
        for kernel in load_kernels(variants=True)
        if kernel.arithmetic == FP32
    )
    return [max(of_class) for of_class in zip(*filter(None, found), strict=True)]


def kernel_errors(record: Record, kernel: Kernel | str, k: int) -> list[float]:
    """Return the errors of a kernel, or of a mode of cuBLAS, for each of the stated inputs.

    Infinite if C held NaN or infinity; empty without records.
    """
    length = min((one for one in record.accuracy_terms if one >= k), default=0)
    found = [record.accuracy(kernel, inputs, length) for inputs in STATED_INPUTS]
    if not all(found):
        return []
    return [math.inf if one.error is None else one.error for one in found if one]


def _tensor_core_algorithms(
    size: Size, error: Bound, known: GpuRecords, workspace: int | None
) -> Iterator[Algorithm]:
    limit = default_workspace(size) if workspace is None else workspace
    for kernel in load_kernels(variants=True):
        if kernel.arithmetic == FP32 or not suits(kernel, _target(known.gpu)):
            continue
        if kernel.input_bytes != FLOAT_BYTES:
            continue
        if kernel.launch_shape(*size, sms=known.gpu.sms).workspace_bytes > limit:
            continue
        for record in (known.record, *known.similar):
            library = kernel_errors(record, CUBLAS, size[2])
            errors = kernel_errors(record, kernel, size[2])
            seconds = predicted_from_record(kernel, size, record, known.gpu.sms)
            if seconds is None or not errors:
                continue
            if _meets(errors, library, error):
                yield Algorithm(size, kernel, None, max(errors), seconds, record.gpu.name)
            break


@dataclass(frozen=True)
class _Leaves:
    """A choice of kernels for the leaves of Strassen's product."""

    machine: Machine
    errors: Callable[[int], tuple[list[float], list[float]]]
    """From levels to errors by inputs, and those of cuBLAS; empty without records."""
    kernel: Callable[[Size], Kernel]


def _strassen_algorithms(
    size: Size, error: Bound, known: GpuRecords, workspace: int | None
) -> Iterator[Algorithm]:
    for leaves in _leaves(size[2], known):
        most = 0
        while _meets(*leaves.errors(most + 1), error):
            most += 1
        plan = best_plan(size, leaves.machine, workspace, most)
        if plan.levels:
            errors, _ = leaves.errors(plan.levels)
            seconds = predict(plan, leaves.machine).seconds
            kernel = leaves.kernel(plan.leaf)
            yield Algorithm(size, kernel, plan, max(errors), seconds, known.machine.gpu)


def _leaves(k: int, known: GpuRecords) -> Iterator[_Leaves]:
    """Yield the choices for the leaves: the dispatcher's kernels, or one kernel on tensor cores.

    For leaves of another shape than the recorded ones, the dispatcher may choose a kernel with a
    larger error, at worst one that adds all K terms sequentially. Errors are scaled by the ratio of
    that worst error to the recorded error of zero levels.
    """
    if not known.strassen:
        return
    found = _recorded(known.strassen.errors, k)
    plain = plain_errors(known.record, found[0].k) if found else []
    if plain:
        raised = max(1.0, max(plain) / max(one.levels[0] for one in found))
        picked = partial(_level_errors, found, raised)
        yield _Leaves(known.machine, picked, lambda leaf: known.picker.pick(*leaf).kernel)
    for inside in known.strassen.inside:
        kernel = book_kernel(inside.kernel)
        if (
            kernel
            and kernel.fingerprint == inside.fingerprint
            and suits(kernel, _target(known.gpu))
        ):
            machine = with_leaf_kernel(known.machine, kernel, known.record)
            errors = partial(_level_errors, _recorded(inside.errors, k), 1.0)
            yield _Leaves(machine, errors, partial(_constant, kernel))


def _constant(kernel: Kernel, _leaf: Size) -> Kernel:
    return kernel


def _level_errors(
    found: Sequence[Errors], raised: float, levels: int
) -> tuple[list[float], list[float]]:
    if any(levels >= len(one.levels) for one in found):
        return [], []
    return [raised * one.levels[levels] for one in found], [one.cublas for one in found]


def _recorded(errors: Sequence[Errors], k: int) -> list[Errors]:
    """Return the errors for all inputs at the nearest recorded K that is not smaller."""
    length = min((one.k for one in errors if one.k >= k), default=0)
    return [one for one in errors if one.k == length]


def _meets(errors: Sequence[float], library: Sequence[float], error: Bound) -> bool:
    """Whether errors are within a bound, or for ``FP32`` at most those of cuBLAS."""
    if not errors:
        return False
    if error == FP32:
        pairs = zip(errors, library, strict=True) if library else ()
        return bool(library) and all(one <= other for one, other in pairs)
    return _is_within(max(errors), error)


def _is_within(found: float | None, error: Bound) -> bool:
    return found is not None and isinstance(error, int | float) and found <= error


def _no_algorithm_message(size: Size, error: Bound, known: GpuRecords) -> str:
    """Return the message that no algorithm meets a bound, with the smallest recorded error."""
    errors = [max(plain_errors(known.record, size[2]), default=math.inf)]
    if known.is_recorded:
        found = _tensor_core_algorithms(size, math.inf, known, None)
        errors += (one.error for one in found if one.error is not None)
    advice = f"No errors are recorded for a K of {size[2]:,} or more. Omit error."
    if min(errors) < math.inf:
        advice = f"The smallest recorded for K = {size[2]:,} is {min(errors):.2g}. Allow more."
    return f"No recorded algorithm has an error of at most {error} on {known.gpu.name}. {advice}"


def _target(gpu: Device) -> str:
    return f"sm_{gpu.compute_capability.replace('.', '')}"
