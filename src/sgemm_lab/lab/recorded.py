"""The record that the chapters quote, as a page tells of it: what was run, how long, and when."""

from collections.abc import Sequence
from functools import cached_property

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.lab.your_gpu import gpu_seconds
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.measuring.recorder import RAGGED_SIZES, SQUARE_SIZES
from sgemm_lab.measuring.sizes import TIME_LIMIT
from sgemm_lab.models.roofline import clock_text
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Measurement, Record, Spread
from sgemm_lab.text import bytes_text

_LIBRARY = set(CUBLAS_MODES.values())


class Recorded:
    """The first of the book's records, what it would take to measure it anew, and its largest run.

    ``run`` is the latest of those that measured the most kernels and sizes. Later kernels have
    runs of their own, so the kernels of today and their times are gathered from all of them.
    """

    budget = Budget()
    """How long a kernel is measured at one size."""
    time_limit = TIME_LIMIT
    """Seconds that the races of a record may take."""
    square_sizes = SQUARE_SIZES
    ragged_sizes = RAGGED_SIZES

    def __init__(self, record: Record) -> None:
        self.record = record
        self.gpu = record.gpu
        self.run = max(reversed(record.runs), key=lambda run: len(run.measurements))

    @cached_property
    def latest(self) -> list[Measurement]:
        """The latest samples of each kernel and variant of today, and of cuBLAS, at each size."""
        names = {kernel.name for kernel in load_kernels(variants=True)} | _LIBRARY
        newest = sorted(self.record.runs, key=lambda run: run.date)
        found = {(one.kernel, one.size): one for run in newest for one in run.measurements}
        return [one for (kernel, _), one in found.items() if kernel in names]

    @property
    def kernels(self) -> set[str]:
        """The names of the kernels and variants that were measured."""
        return {one.kernel for one in self.latest} - _LIBRARY

    def seconds(self, sizes: Sequence[Size] | None = None) -> float:
        """Return for how many seconds the GPU is timed and warmed up, in all or at some sizes.

        In all is at the sizes that ``sgemm-lab record`` takes.
        """
        return gpu_seconds(self.latest, sizes or (*self.square_sizes, *self.ragged_sizes))

    def slowest(self, size: Size) -> Measurement:
        """Return the samples of the slowest kernel at a size."""
        at_size = [one for one in self.latest if one.size == size]
        return max(at_size, key=lambda samples: min(samples.seconds))

    def samples(self, benchmark: str) -> int:
        """Return how many samples a microbenchmark takes at each parameter."""
        return len(next(iter(self.record.readings(benchmark).values())).samples)

    def table(self) -> Output:
        """List what the file holds."""
        gpu, run, runs = self.gpu, self.run, self.record.runs
        power, heat = _at_most(run.power_w, "W"), _at_most(run.temperature_c, "°C")
        measurements = [found for run in runs for found in run.measurements]
        samples = sum(len(found.seconds) for found in measurements)
        rows = [
            ["the GPU, as its driver describes it",
             f"{gpu.sms} SMs, {gpu.max_clock_mhz:,.0f} MHz, {bytes_text(gpu.l2_bytes)} of L2"],
            ["runs", f"{len(runs)}"],
            ["the largest run, with its versions",
             f"{run.date}: driver {run.driver}, CUDA {run.cuda}, NVRTC {run.nvrtc}, "
             f"CuPy {run.cupy}"],
            ["the library call", run.cublas_call],
            ["its clock, power and temperature under load",
             f"{clock_text(run.clock_mhz)}, {power}, {heat}"],
            ["every sample of every kernel and size",
             f"{samples:,} samples in {len(measurements):,} measurements, cuBLAS among them"],
            ["readings of the microbenchmarks", f"{sum(len(r.readings) for r in runs)}"],
            ["hardware counters", f"of {sum(len(r.counters) for r in runs)} launches"],
            ["which source was measured", "a fingerprint of each kernel's code"],
        ]  # fmt: skip
        return table(["in the file", f"of the {gpu.name}"], rows, numbers=2)


def recorded(gpu: str = "") -> Recorded:
    """Return the record that the chapters quote, or that of the GPU whose name contains ``gpu``.

    Raises:
        LabError: no GPU of that name was recorded.
    """
    for record in session.book_records():
        if gpu.lower() in record.gpu.name.lower():
            return Recorded(record)
    raise LabError(f"No record has a GPU whose name contains '{gpu}'.")


def _at_most(spread: Spread | None, unit: str) -> str:
    return f"up to {spread.max:.0f} {unit}" if spread else f"{unit} not read"
