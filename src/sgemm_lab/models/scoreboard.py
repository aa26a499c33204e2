"""The scoreboard: measurements by kernel, size and GPU, with cuBLAS, bound and error."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sgemm_lab.catalogue import book_kernels
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import bound_of
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records import strassen
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import scores
from sgemm_lab.records.strassen import StrassenRecord, StrassenScore


@dataclass(frozen=True)
class Line:
    """One product at one size on one GPU. Speeds are medians, interleaved with cuBLAS."""

    kernel: str
    """A kernel's name, "matmul" for the dispatcher, or "strassen"."""
    picked: str | None
    """The kernel that the dispatcher chose."""
    gpu: str
    m: int
    n: int
    k: int
    gflops: float
    cublas_gflops: float
    """Of cuBLAS in FP32."""
    error: float | None
    """‖C − A·B‖ / ‖A·B‖ against float64; None if not measured."""
    cublas_error: float | None
    date: str
    arithmetic: str | None
    """Such as "fp32"; None for a kernel that the book no longer has, all of which were in FP32."""
    levels: int | None
    """Of Strassen's product."""
    bound_by: str | None = None
    """The unit that bounds it; None where that is not known."""
    bound_gflops: float | None = None
    library_gflops: float | None = None
    """Of cuBLAS in the same arithmetic in the same run; None if it was not measured. The library of
    3xtf32, 3xfp16 and of Strassen's product is cuBLAS in FP32."""

    @property
    def size(self) -> Size:
        """M, N, K."""
        return self.m, self.n, self.k

    @property
    def share(self) -> float | None:
        """Speed relative to cuBLAS in the same arithmetic."""
        return None if self.library_gflops is None else self.gflops / self.library_gflops


def lines(
    records: Sequence[Record],
    strassen_records: Iterable[StrassenRecord],
    gpu: str = "",
    *,
    bounds: bool = True,
) -> list[Line]:
    """Return the latest score of each kernel, size and GPU, then those of Strassen's product.

    Args:
        records: of kernels.
        strassen_records: of Strassen's product.
        gpu: only GPUs whose name contains this, ignoring case.
        bounds: whether to compute the bounds, which takes seconds.
    """
    bound = _bounds(records) if bounds else _no_bound
    measured = scores(records)
    kernels = book_kernels(score.picked or score.kernel for score in measured)
    found = [
        _line(score, kernel.arithmetic if kernel else None, None, *bound(score, kernel))
        for score, kernel in zip(measured, kernels, strict=True)
    ] + [
        _line(score, score.arithmetic, score.levels)
        for record in strassen_records
        for score in strassen.scores(record)
    ]
    return [line for line in found if gpu.lower() in line.gpu.lower()]


def _line(
    score: Score | StrassenScore,
    arithmetic: str | None,
    levels: int | None,
    bound_by: str | None = None,
    bound_gflops: float | None = None,
) -> Line:
    library: float | None = score.cublas_gflops
    if isinstance(score, Score) and arithmetic:
        library = score.library_gflops(arithmetic)
    return Line(
        score.kernel, score.picked, score.gpu, score.m, score.n, score.k, score.gflops,
        score.cublas_gflops, score.error, score.cublas_error, score.date, arithmetic, levels,
        bound_by, bound_gflops, library,
    )  # fmt: skip


def _bounds(
    records: Sequence[Record],
) -> Callable[[Score, Kernel | None], tuple[str | None, float | None]]:
    """Return a function from a score and its kernel to the name and GFLOP/s of its bound."""

    def bound(score: Score, kernel: Kernel | None) -> tuple[str | None, float | None]:
        record = next(r for r in records if score.run in r.runs)
        gpu = sheet_of(record)
        found = bound_of(kernel, score, gpu, record) if gpu and kernel else None
        return (found.unit, found.gflops) if found else (None, None)

    return bound


def _no_bound(_score: Score, _kernel: Kernel | None) -> tuple[None, None]:
    return None, None
