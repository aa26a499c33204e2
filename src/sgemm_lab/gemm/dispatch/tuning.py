"""Measure all candidates at many shapes, and fit the model of time: the work of ``tune``."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.fitting import Times, fit
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.gemm.dispatch.shapes import SQUARES, drawn, edges
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import Product
from sgemm_lab.records.dispatch_table import LibraryShape, Model, Point, Search, Table
from sgemm_lab.records.gpu_record import Device, five_digits

RELIABLE = 60e-6
"""Seconds from which the time of one launch, of a candidate that is ruled out, is used."""

FEWEST_SHAPES = 100
"""A model is not fitted to fewer."""

DRAWN, EDGES = 240, 80


@dataclass(frozen=True)
class ShapeTimes:
    """Times of the candidates and of cuBLAS at one shape, in seconds per launch."""

    size: Size
    graph: bool
    """Whether they are from replayed CUDA graphs."""
    cublas: float
    seconds: dict[str, float]
    """Medians by the candidate's name, interleaved with cuBLAS."""
    slow: dict[str, float]
    """Of candidates that are ruled out: one launch."""
    faults: list[str] = field(default_factory=list)
    """Sentences on candidates whose product was wrong."""


class Bench(Protocol):
    """The candidates on a GPU."""

    resident: dict[Kernel, int]
    """Those that run on the GPU, with their blocks on an SM."""

    def measure(self, size: Size) -> ShapeTimes:
        """Check and measure all candidates at a size.

        Raises:
            LabError: the GPU's memory cannot hold the matrices.
        """

    def product(self, name: str) -> Product:
        """Return the product of a candidate."""


def tuning_shapes(seed: int) -> list[Size]:
    """Return the shapes of a search: squares, drawn ones, and drawn ones with a short or long side.

    The kinds alternate, so that a search that is ended early has some of each.
    """
    many, few = drawn(DRAWN, seed), edges(EDGES, seed)
    each = len(many) // len(few)
    mixed = [size for place, one in enumerate(few) for size in (*many[place * each :][:each], one)]
    return [*SQUARES, *mixed]


def measure_shapes(
    bench: Bench,
    sizes: Sequence[Size],
    seconds: float,
    progress: Callable[[int, float], None] = lambda done, spent: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[ShapeTimes]:
    """Measure the candidates at shape after shape, until the time is spent.

    A shape that the GPU's memory cannot hold is left out.
    """
    begin, found = clock(), []
    for done, size in enumerate(sizes):
        spent = clock() - begin
        if spent >= seconds:
            break
        progress(done, spent)
        try:
            found.append(bench.measure(size))
        except LabError:
            continue
    return found


def table_of(
    gpu: Device, environment: Search, bench: Bench, measured: Sequence[ShapeTimes]
) -> Table:
    """Return the table of a search: points at the squares, and the model fitted to all shapes."""
    if len(measured) < FEWEST_SHAPES:
        raise LabError(
            f"{len(measured)} shapes were measured, and a model needs {FEWEST_SHAPES}. "
            "Nothing was written. Give more time with --time-limit."
        )
    times = (
        Times(kernel, blocks, _reliable(kernel.name, measured))
        for kernel, blocks in bench.resident.items()
    )
    prints = {kernel.name: kernel.fingerprint for kernel in bench.resident}
    points = (
        Point(name, prints[name], *one.size, five_digits(s), five_digits(one.cublas), one.graph)
        for one in measured
        if one.size in SQUARES
        for name, s in one.seconds.items()
    )
    about = environment.environment()
    search = Search(**about, complete=True, points=tuple(points))
    model = Model(**about, shapes=len(measured), fits=fit(times, gpu.sms))
    predict = Picker(gpu, [Table(gpu, (), model)]).pick
    library = tuple(
        LibraryShape(*one.size, float(f"{one.cublas / predict(*one.size).seconds:.4g}"))
        for one in measured
    )
    return Table(gpu, (search,), replace(model, library=library))


def _reliable(name: str, measured: Iterable[ShapeTimes]) -> dict[Size, float]:
    """Return the times of a candidate by size, without single launches of microseconds."""
    found = {}
    for one in measured:
        seconds = one.seconds.get(name) or one.slow.get(name, 0.0)
        if name in one.seconds or seconds > RELIABLE:
            found[one.size] = seconds
    return found
