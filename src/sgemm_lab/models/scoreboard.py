"""The scoreboard: measurements by kernel, size and GPU, with cuBLAS, bound and error."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from sgemm_lab.catalogue import book_kernels
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.bound import Bound, bound_of
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import scores
from sgemm_lab.records.strassen import STRASSEN, StrassenRecord, latest, strassen_over


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

    Only of GPUs whose name contains ``gpu``, ignoring case. Bounds take seconds to compute.
    """
    measured = [one for one in scores(records) if gpu.lower() in one.gpu.lower()]
    kernels = book_kernels(score.picked or score.kernel for score in measured)
    found = [
        _line(score, kernel, _bound(score, kernel, records) if bounds else None)
        for score, kernel in zip(measured, kernels, strict=True)
    ]
    found += (line for record in strassen_records for line in _strassen_lines(record))
    return [line for line in found if gpu.lower() in line.gpu.lower()]


def _line(score: Score, kernel: Kernel | None, limit: Bound | None) -> Line:
    arithmetic = kernel.arithmetic if kernel else None
    return Line(
        score.kernel, score.picked, score.gpu, *score.size, score.gflops, score.cublas_gflops,
        score.error, score.cublas.error, score.date, arithmetic, None,
        limit.unit if limit else None, limit.gflops if limit else None,
        score.library_gflops(arithmetic) if arithmetic else score.cublas_gflops,
    )  # fmt: skip


def _bound(score: Score, kernel: Kernel | None, records: Sequence[Record]) -> Bound | None:
    record = next(r for r in records if score.run in r.runs)
    gpu = sheet_of(record)
    return bound_of(kernel, score, gpu, record) if gpu and kernel else None


def _strassen_lines(record: StrassenRecord) -> Iterator[Line]:
    """Yield the fastest plan with levels of each size and leaf arithmetic, of the latest run.

    Errors are those for inputs uniform in ±0.5, as of the other kernels.
    """
    run = latest(record)
    parts = [(STRASSEN, run.date, run.times, run.errors)]
    parts += [
        (strassen_over(one.arithmetic), one.date or run.date, one.times, one.errors)
        for one in run.inside
    ]
    for arithmetic, date, sizes, errors in parts:
        uniform = {one.size: one for one in errors if one.inputs == "uniform"}
        for times in sizes:
            plans = [plan for plan in times.ways if plan.levels]
            if not plans:
                continue
            best = min(plans, key=lambda plan: median(plan.seconds))
            gflops, cublas = (1e3 * times.tflops(each) for each in (best.seconds, times.cublas))
            found = uniform.get(times.size)
            # All schedules of one depth add in the same order.
            error = dict(enumerate(found.levels)).get(best.levels) if found else None
            yield Line(
                STRASSEN, None, record.gpu.name, *times.size, gflops, cublas, error,
                found.cublas if found else None, date, arithmetic, best.levels,
                library_gflops=cublas,
            )  # fmt: skip
