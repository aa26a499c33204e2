"""The scoreboard: measurements by kernel, size and GPU, with cuBLAS, bound and error."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sgemm_lab.catalogue import book_kernel, load_kernels
from sgemm_lab.kernel import Size
from sgemm_lab.models.bound import bound_of
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records import strassen
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import scores
from sgemm_lab.records.strassen import StrassenRecord, StrassenScore

_OTHER_ARITHMETIC = 10
"""A former kernel with an error that many times that of cuBLAS in FP32 used another arithmetic."""


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
    """Such as "fp32" or "3xtf32"; None for a kernel that the book no longer has."""
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
    arithmetics = {kernel.name: kernel.arithmetic for kernel in load_kernels(variants=True)}
    bound = _bounds(records) if bounds else _no_bound
    found = [
        _line(score, arithmetics.get(score.picked or score.kernel), None, *bound(score))
        for score in scores(records)
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
    return Line(
        score.kernel, score.picked, score.gpu, score.m, score.n, score.k, score.gflops,
        score.cublas_gflops, score.error, score.cublas_error, score.date, arithmetic, levels,
        bound_by, bound_gflops, _library_gflops(score, arithmetic),
    )  # fmt: skip


def _library_gflops(score: Score | StrassenScore, arithmetic: str | None) -> float | None:
    usual = _OTHER_ARITHMETIC * (score.cublas_error or 0)
    if arithmetic is None and score.error and score.error > usual > 0:
        return None
    if isinstance(score, StrassenScore):
        return score.cublas_gflops
    return score.library_gflops(arithmetic or "")


def _bounds(records: Sequence[Record]) -> Callable[[Score], tuple[str | None, float | None]]:
    """Return a function from a score to the name and GFLOP/s of its bound."""

    def bound(score: Score) -> tuple[str | None, float | None]:
        record = next(r for r in records if score.run in r.runs)
        gpu = sheet_of(record)
        kernel = book_kernel(score.picked or score.kernel)
        found = bound_of(kernel, score, gpu, record) if gpu and kernel else None
        return (found.unit, found.gflops) if found else (None, None)

    return bound


def _no_bound(_score: Score) -> tuple[None, None]:
    return None, None
