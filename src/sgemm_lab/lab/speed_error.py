"""Speed and error of all that multiplies.

A way's errors are of two kinds. ``timed`` is that of the very product whose speed is told, on
inputs uniform in ±0.5. ``errors`` are by class of inputs and K, of a smaller C.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sgemm_lab.catalogue import book_kernel, load_kernel, load_kernels
from sgemm_lab.formulas.error_points import LOST
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.accuracy import LIBRARY_NAMES
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.strassen import strassen_results
from sgemm_lab.measuring.accuracy import LENGTHS, SIDE
from sgemm_lab.records.gpu_record import CUBLAS_MODES, INPUTS, Accuracy, Record
from sgemm_lab.records.strassen import STRASSEN_RECORDS, level_error_name
from sgemm_lab.text import plural, size_text
from sgemm_lab.widgets import SpeedError
from sgemm_lab.widgets.speed_error import KERNEL, LIBRARY, STRASSEN, Way

SIZES: tuple[Size, ...] = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 16384, 16384))
"""At which the widget has speeds."""


@dataclass(frozen=True)
class Measured:
    """All that is recorded of a way to multiply."""

    name: str
    kind: str
    arithmetic: str
    """Of its products: of the leaves, where it is Strassen's."""
    tflops: Mapping[Size, float]
    timed: Mapping[Size, float]
    """The error of the product that was timed."""
    errors: Mapping[tuple[str, int], Accuracy] = field(default_factory=dict)
    """By class of inputs and K."""
    levels: int = 0
    over: str = ""
    """The kernel of Strassen's leaves, where it is one."""


def of_kernel(kernel: Kernel) -> Measured:
    """Return what the first of the book's records has of a kernel."""
    record = session.book_records()[0]
    found = {size: score for size in SIZES if (score := record.score(kernel, size))}
    return Measured(
        kernel.name, KERNEL, kernel.arithmetic,
        {size: score.gflops / 1e3 for size, score in found.items()},
        {size: score.error for size, score in found.items() if score.error is not None},
        _errors(record, kernel),
    )  # fmt: skip


def of_library(arithmetic: str) -> Measured:
    """Return what the first of the book's records has of a mode of cuBLAS."""
    record, name = session.book_records()[0], CUBLAS_MODES[arithmetic]
    found = {size: one for size in SIZES if (one := record.library(arithmetic, size))}
    return Measured(
        LIBRARY_NAMES[name], LIBRARY, arithmetic,
        {size: one.gflops / 1e3 for size, one in found.items()},
        {size: one.error for size, one in found.items() if one.error is not None},
        _errors(record, name),
    )  # fmt: skip


def of_strassen() -> Iterator[list[Measured]]:
    """Yield Strassen's products by levels from 0 on, over FP32 units and over what is inside.

    Nothing where none were recorded. Of a size without errors there is the speed alone.
    """
    if not STRASSEN_RECORDS.load_all():
        return
    record = session.book_records()[0]
    plain = strassen_results(record.gpu.name)
    found = [("fp32", "", plain)]
    found += [
        (one.arithmetic, one.kernel, plain.inside(one.kernel))
        for one in plain.run.inside
        if book_kernel(one.kernel)
    ]
    for arithmetic, over, one in found:
        squares = [(m, n, k) for m, n, k in SIZES if m == n == k and one.is_timed(m)]
        ways = {size: one.levels(size[0]) for size in squares}
        errors = {n: one.errors(n[0]).levels for n in squares if one.has(n[0])}
        fingerprint = load_kernel(over).fingerprint if over else ""
        yield [
            Measured(
                f"Strassen ({plural(levels, 'level')}{f' over {over}' if over else ''})",
                STRASSEN, arithmetic,
                {size: one.tflops(size[0], of_size[levels])
                 for size, of_size in ways.items() if levels < len(of_size)},
                {size: of_size[levels]
                 for size, of_size in errors.items() if levels < len(of_size)},
                _errors(record, level_error_name(arithmetic, levels), fingerprint),
                levels, over,
            )
            for levels in range(max(map(len, ways.values()), default=0))
        ]  # fmt: skip


def _errors(
    record: Record, kernel: Kernel | str, fingerprint: str = ""
) -> dict[tuple[str, int], Accuracy]:
    return {
        (inputs, k): found
        for inputs in INPUTS
        for k in LENGTHS
        if (found := record.accuracy(kernel, inputs, k, fingerprint))
    }


def speed_over_error(*names: str, size: AnySize = SIZES[0], levels: bool = False) -> SpeedError:
    """Draw speed over error, with switches for inputs, K and size.

    Args:
        names: of kernels. Default: all that are recorded, and Strassen's products, of which the
            fastest of each arithmetic are shown first.
        size: the size to begin with, one of ``SIZES``.
        levels: whether Strassen's products stand beside the named kernels.

    Raises:
        LabError: there is no record, or the size is not one of ``SIZES``.
    """
    library = [of_library(arithmetic) for arithmetic in CUBLAS_MODES]
    kernels = list(map(load_kernel, names)) or load_kernels(variants=True)
    chains = of_strassen() if levels or not names else []
    strassen = [way for ways in chains for way in ways if way.levels]
    found = [*library, *map(of_kernel, kernels), *strassen]
    known = [way for way in found if way.tflops and (way.timed or way.errors)]
    best = [set(names) or _fastest(known, one) for one in SIZES]
    return SpeedError(
        [_as_data(way, best) for way in known],
        sizes=[size_text(one) for one in SIZES],
        classes=INPUTS,
        lengths=LENGTHS,
        side=SIDE,
        gpu=session.book_records()[0].gpu.name,
        size=size_text(size_of(size)),
    )


def _fastest(ways: Sequence[Measured], size: Size) -> set[str]:
    """Return the names of the fastest kernels of each arithmetic at a size, with errors by K."""
    timed = [way for way in ways if way.kind == KERNEL and size in way.tflops and way.errors]
    fastest = {way.arithmetic: way for way in sorted(timed, key=lambda way: way.tflops[size])}
    return {way.name for way in fastest.values()}


def _as_data(way: Measured, best: Sequence[set[str]]) -> Way:
    name = load_kernel(way.name).display_name if way.kind == KERNEL else way.name
    return {
        "title": way.name,
        "label": str(way.levels) if way.levels else name,
        "kind": way.kind,
        "arithmetic": way.arithmetic,
        "chain": way.over or way.kind if way.levels else "",
        "first": [way.kind != KERNEL or way.name in names for names in best],
        "tflops": [_four_digits(way.tflops.get(size)) for size in SIZES],
        "timed": [way.timed.get(size) for size in SIZES],
        "errors": [[_error(way.errors.get((inputs, k))) for k in LENGTHS] for inputs in INPUTS],
    }


def _error(found: Accuracy | None) -> float | None:
    if found is None:
        return None
    return LOST if found.error is None else found.error


def _four_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
