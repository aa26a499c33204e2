"""Which way to multiply? The fastest that is recorded to keep a stated error.

A way is the dispatcher's kernel in FP32, a kernel of tensor cores, or Strassen's product. Nothing
here runs one.

An error is ‖C − A·B‖ over ‖A·B‖, Frobenius norms, A·B in float64. What a way's is at a K, records
tell: the largest of the ``STATED`` classes of inputs, at the nearest recorded K that is not
smaller. A way of which nothing is recorded there is not taken, and neither is one whose C held NaN
or infinity. On inputs of other classes an error can be larger (chapters 11 and 12).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sgemm_lab.cuda.compiler import suits
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.recorded import recorded_seconds
from sgemm_lab.gemm.strassen.model import (
    WORTH,
    Machine,
    best_plan,
    book_machine,
    foretell,
    with_leaves,
)
from sgemm_lab.gemm.strassen.plan import Plan
from sgemm_lab.kernel import Kernel, Size, book_kernel, load_kernels
from sgemm_lab.records.dispatch_table import load_tables, nearest_table
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

STATED = ("half", "unit", "normal", "wide")
"""The classes of inputs for which errors hold, of ``records.data.INPUTS``. Those of Strassen's
record are the like: its wide exponents are ±10, not ±20."""

FP32 = "fp32"
"""Asks for an error like that of products in FP32."""

Bound = float | str | None
"""The largest error that is allowed; ``FP32``; or None: whatever products in FP32 have."""


@dataclass(frozen=True)
class Way:
    """How a product is computed, and what is recorded or predicted of that."""

    size: Size
    """M, N, K."""
    kernel: Kernel
    """What multiplies; in Strassen's product the leaves."""
    plan: Plan | None
    """Of Strassen's product; None for a kernel alone."""
    error: float | None
    """The largest recorded of the stated classes of inputs; None: nothing is recorded of this K."""
    seconds: float
    """Prediction."""
    gpu: str
    """The GPU that it is predicted for."""

    @property
    def name(self) -> str:
        """The kernel's name, or "strassen"."""
        return STRASSEN if self.plan else self.kernel.name

    @property
    def arithmetic(self) -> str:
        """What the product multiplies in: "3xtf32", "strassen", or "strassen+3xtf32"."""
        return strassen_over(self.kernel.arithmetic) if self.plan else self.kernel.arithmetic

    @property
    def workspace_bytes(self) -> int:
        """Bytes that Strassen's product takes while it runs; a kernel alone has 0."""
        return self.plan.workspace_bytes if self.plan else 0

    def __str__(self) -> str:
        """Say it in a sentence."""
        way = f"{self.name} in {self.arithmetic}"
        if self.plan:
            way = f"{STRASSEN}, {plural(self.plan.levels, 'level')} over {self.kernel.name}"
        error = "not recorded at this K" if self.error is None else f"{self.error:.1e}"
        room = f", workspace {bytes_moved_text(self.workspace_bytes)}" if self.plan else ""
        return (
            f"{size_text(self.size)} by {way}: error {error}, {self.seconds * 1e3:.3g} ms "
            f"predicted on {self.gpu}{room}."
        )


@dataclass(frozen=True)
class Known:
    """What the records tell of a GPU."""

    gpu: Device
    picker: Picker
    machine: Machine
    record: Record
    """Of this GPU, or of another: plain FP32 errs alike on all."""
    strassen: StrassenRun | None
    """On this GPU."""

    @property
    def is_recorded(self) -> bool:
        """Whether the record is of this GPU model. If not, only plain FP32 is considered."""
        return self.record.gpu.name == self.gpu.name


def known_of(gpu: Device | None) -> Known:
    """Return what the book's records tell of a GPU; None: of the first that has a table.

    Raises:
        LabError: there is no table of tuned kernels, or no record.
    """
    machine, tables, records = book_machine(gpu), load_tables(), load_records()
    gpu = gpu or tables[0].gpu
    if not records:
        raise LabError("There is no record. Take one with 'sgemm-lab record' on a GPU.")
    table = nearest_table(gpu, tables)
    mine = [record for record in records if record.gpu.name == gpu.name]
    strassen = [latest(one) for one in STRASSEN_RECORDS.load_all() if one.gpu.name == gpu.name]
    return Known(
        gpu,
        Picker(table, gpu.sms, lambda kernel: suits(kernel, _target(gpu))),
        machine,
        (mine or records)[0],
        strassen[0] if strassen else None,
    )


def check_bound(error: Bound) -> None:
    """Accept a bound that can be.

    Raises:
        LabError: it is neither a number above 0 nor "fp32" nor None.
    """
    if error is None or (isinstance(error, str) and error == FP32):
        return
    is_number = isinstance(error, int | float) and not isinstance(error, bool)
    if not is_number or not 0 < float(error) < math.inf:
        raise LabError(
            f"error is {error!r}. Give a number above 0 such as 1e-5, the largest that "
            "‖C − A·B‖ over ‖A·B‖ may be; or 'fp32'; or leave it away."
        )


def choose(size: Size, error: Bound, known: Known, workspace: int | None = None) -> Way:
    """Return the fastest way that keeps an error.

    Args:
        size: M, N, K, each 1 or more.
        error: the bound. None: the plain way, the dispatcher's kernel in FP32. "fp32": the plain
            way, or one of which each recorded error is at most that of cuBLAS in FP32.
        known: of the GPU.
        workspace: bytes that Strassen's product may take; None: one and a half times A, B and C.

    Raises:
        LabError: the bound or the workspace cannot be, or nothing is recorded to keep the bound.
    """
    check_bound(error)
    if workspace is not None and workspace < 0:
        raise LabError(f"The workspace is {workspace} bytes. Give 0 or more, or leave it away.")
    plain = _plain(size, known)
    if error is None:
        return plain
    ways = [plain] if error == FP32 or _is_within(plain.error, error) else []
    if known.is_recorded:
        ways += _on_tensor_cores(size, error, known)
        ways += _by_strassen(size, error, known, workspace)
    if not ways:
        raise LabError(_nothing(size, error, known))
    best = min(ways, key=lambda way: way.seconds)
    # Prediction times err by a few percent, and no way must be slower than the plain one.
    return plain if plain in ways and best.seconds * WORTH > plain.seconds else best


def _plain(size: Size, known: Known) -> Way:
    found = known.picker.pick(*size)
    errors = plain_errors(known.record, size[2])
    error = max(errors) if errors else None
    return Way(size, found.kernel, None, error, found.seconds, known.machine.gpu)


def plain_errors(record: Record, k: int) -> list[float]:
    """Return, by stated class, the largest error that is recorded of a kernel in FP32.

    One that adds up a whole sum term by term is among them; those that add up parts err less. So
    it holds for all. Empty where nothing is recorded.
    """
    found = (
        kernel_errors(record, kernel, k)
        for kernel in load_kernels(variants=True)
        if kernel.arithmetic == FP32
    )
    return [max(of_class) for of_class in zip(*filter(None, found), strict=True)]


def kernel_errors(record: Record, kernel: Kernel | str, k: int) -> list[float]:
    """Return the errors of a kernel, or of a mode of cuBLAS, by stated class.

    Infinite where elements of C were lost; empty where nothing is recorded.
    """
    length = min((one for one in record.accuracy_terms if one >= k), default=0)
    found = [record.accuracy(kernel, inputs, length) for inputs in STATED]
    if not all(found):
        return []
    return [math.inf if one.error is None else one.error for one in found if one]


def _on_tensor_cores(size: Size, error: Bound, known: Known) -> Iterator[Way]:
    library = kernel_errors(known.record, CUBLAS, size[2])
    for kernel in load_kernels(variants=True):
        if kernel.arithmetic == FP32 or not suits(kernel, _target(known.gpu)):
            continue
        if kernel.copies_factors:
            continue  # its workspace, as large as A and B, would be kept after the product
        errors = kernel_errors(known.record, kernel, size[2])
        seconds = recorded_seconds(kernel, size, known.record, known.gpu.sms)
        if seconds is not None and _keeps(errors, library, error):
            yield Way(size, kernel, None, max(errors), seconds, known.gpu.name)


@dataclass(frozen=True)
class _Leaves:
    """Who multiplies the leaves of Strassen's product, and what is known of that."""

    machine: Machine
    errors: Callable[[int], tuple[list[float], list[float]]]
    """Given levels: the errors by class and those of cuBLAS; empty where nothing is recorded."""
    kernel: Callable[[Size], Kernel]


def _by_strassen(size: Size, error: Bound, known: Known, workspace: int | None) -> Iterator[Way]:
    for leaves in _leaves(size[2], known):
        most = 0
        while _keeps(*leaves.errors(most + 1), error):
            most += 1
        plan = best_plan(size, leaves.machine, workspace, most)
        if plan.levels:
            errors, _ = leaves.errors(plan.levels)
            told = foretell(plan, leaves.machine)
            kernel = leaves.kernel(plan.leaf)
            yield Way(size, kernel, plan, max(errors), told.seconds, known.machine.gpu)


def _leaves(k: int, known: Known) -> Iterator[_Leaves]:
    """Return who can multiply leaves: the dispatcher's kernels, or one kernel of other arithmetic.

    Leaves of another shape than the recorded ones may get another kernel of the dispatcher, up to
    one that adds up whole sums term by term. By what factor that errs more than the recorded
    product of no level, all errors are raised.
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
            machine = with_leaves(known.machine, kernel, known.record)
            errors = partial(_level_errors, _recorded(inside.errors, k), 1.0)
            yield _Leaves(machine, errors, partial(_always, kernel))


def _always(kernel: Kernel, _leaf: Size) -> Kernel:
    return kernel


def _level_errors(
    found: Sequence[Errors], raised: float, levels: int
) -> tuple[list[float], list[float]]:
    if any(levels >= len(one.levels) for one in found):
        return [], []
    return [raised * one.levels[levels] for one in found], [one.cublas for one in found]


def _recorded(errors: Sequence[Errors], k: int) -> list[Errors]:
    """Return the errors of all classes at the nearest K that is not smaller."""
    length = min((one.k for one in errors if one.k >= k), default=0)
    return [one for one in errors if one.k == length]


def _keeps(errors: Sequence[float], library: Sequence[float], error: Bound) -> bool:
    """Say whether errors by class are within a bound, or at most those of cuBLAS in FP32."""
    if not errors:
        return False
    if error == FP32:
        pairs = zip(errors, library, strict=True) if library else ()
        return bool(library) and all(mine <= other for mine, other in pairs)
    return _is_within(max(errors), error)


def _is_within(found: float | None, error: Bound) -> bool:
    return found is not None and isinstance(error, int | float) and found <= error


def _nothing(size: Size, error: Bound, known: Known) -> str:
    """Say that nothing keeps an error, and which is the least that something does."""
    errors = [max(plain_errors(known.record, size[2]), default=math.inf)]
    if known.is_recorded:
        ways = _on_tensor_cores(size, math.inf, known)
        errors += (way.error for way in ways if way.error is not None)
    told = f"Errors are not recorded for so large a K as {size[2]:,}. Leave error away."
    if min(errors) < math.inf:
        told = f"The least that is recorded for K = {size[2]:,} is {min(errors):.2g}. Allow more."
    return f"No way is known to keep an error of {error} on {known.gpu.name}. {told}"


def _target(gpu: Device) -> str:
    return f"sm_{gpu.compute_capability.replace('.', '')}"
