"""Strassen's product as a page shows it: its products, its record, and a run here."""

import statistics
from dataclasses import replace
from functools import cached_property

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen.engine import GPU_SIZE, NUMPY_SIZE, random_product_error
from sgemm_lab.gemm.strassen.error import (
    INPUTS,
    UNIFORM,
    bound,
    expected_growth,
)
from sgemm_lab.gemm.strassen.model import (
    Machine,
    Prediction,
    best_plan,
    book_machine,
    predict,
    with_leaf_kernel,
)
from sgemm_lab.gemm.strassen.plan import Plan, make_plan
from sgemm_lab.gpu import find_gpu
from sgemm_lab.hardware import FLOP_PER_WARP_FMA
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.closing_box import Bars, Box, peak_of
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.bound import PEAK, rates
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import (
    STRASSEN_RECORDS,
    Errors,
    MeasuredPlan,
    SizeTimes,
    StrassenRun,
    latest,
)
from sgemm_lab.text import (
    bytes_moved_text,
    error_text,
    plural,
    product_texts,
    size_text,
)


class StrassenResults:
    """Recorded results of Strassen's product on the book's first GPU, with their predictions.

    Asking for what was not measured raises a LabError. ``arithmetic`` is that of the leaves.
    """

    def __init__(
        self, gpu: str, run: StrassenRun, machine: Machine, arithmetic: str = "fp32"
    ) -> None:
        self.gpu, self.run, self.machine, self.arithmetic = gpu, run, machine, arithmetic

    def inside(self, kernel: str) -> "StrassenResults":
        """Return the same of plans whose leaves were all multiplied by one kernel."""
        found = next((one for one in self.run.inside if one.kernel == kernel), None)
        record = next((one for one in load_records() if one.gpu.name == self.gpu), None)
        if not found or not record:
            raise LabError(f"Strassen's product was not measured with {kernel} inside.")
        date = found.date or self.run.date
        run = replace(self.run, date=date, times=found.times, errors=found.errors)
        machine = with_leaf_kernel(self.machine, load_kernel(kernel), record)
        return StrassenResults(self.gpu, run, machine, found.arithmetic)

    @cached_property
    def growth(self) -> float:
        """The factor by which a level is expected to make the error larger."""
        return expected_growth()

    def at(self, n: int) -> SizeTimes:
        """Return the times of n×n matrices."""
        return self.run.at(n)

    def is_timed(self, n: int) -> bool:
        """Whether times of n×n matrices were measured."""
        return any(found.size == (n, n, n) for found in self.run.times)

    def has(self, n: int) -> bool:
        """Whether times and errors of n×n matrices, uniform in ±0.5, were measured."""
        kinds = [one.inputs for one in self.run.errors if (one.m, one.n, one.k) == (n, n, n)]
        return self.is_timed(n) and UNIFORM in kinds

    def best(self, n: int) -> MeasuredPlan:
        """Return the plan that the model takes for n×n matrices, as it was measured."""
        return self.way(n, best_plan((n, n, n), self.machine).schedules)

    def way(self, n: int, schedules: tuple[str, ...]) -> MeasuredPlan:
        """Return a plan of n×n matrices, as it was measured."""
        for way in self.at(n).ways:
            if way.schedules == schedules:
                return way
        raise LabError(f"{'+'.join(schedules) or 'no level'} was not measured at {n}.")

    def plain(self, n: int) -> MeasuredPlan:
        """Return the product without levels, as it was measured."""
        return self.way(n, ())

    def predicted(self, n: int, way: MeasuredPlan) -> Prediction:
        """Return what the model predicts for a plan of n×n matrices."""
        return predict(Plan((n, n, n), way.schedules), self.machine)

    def tflops(self, n: int, way: MeasuredPlan) -> float:
        """Return 2·n³ over the median time of a plan, in TFLOP/s."""
        return self.at(n).tflops(way.seconds)

    def share(self, n: int, way: MeasuredPlan) -> float:
        """Return the speed of a plan over that of cuBLAS in the same run."""
        return self.at(n).share(way)

    def levels(self, n: int) -> list[MeasuredPlan]:
        """Return the plans of 0, 1, … levels that a limit of workspace as usual allows."""
        most = max(way.levels for way in self.at(n).ways)
        return [self.way(n, make_plan((n, n, n), levels).schedules) for levels in range(most + 1)]

    def levels_table(self, *sizes: int) -> Output:
        """List levels at some sizes: speed, and speed over that of cuBLAS."""
        rows = [
            [f"{n}³" * (way.levels == 0), f"{way.levels}", f"{self.tflops(n, way):.1f}",
             f"{self.share(n, way):.2f}"]
            for n in sizes for way in self.levels(n)
        ]  # fmt: skip
        heads = ["size", "levels", "TFLOP/s", "speed ÷ cuBLAS"]
        return table(heads, rows, numbers=2, note=self.note)

    def errors(self, n: int, inputs: str = UNIFORM) -> Errors:
        """Return the errors of n×n matrices of a class."""
        return self.run.error_at(n, inputs)

    def grown(self, n: int, levels: int, inputs: str = UNIFORM) -> float:
        """Return by what factor so many levels made the error of the plain product larger."""
        found = self.errors(n, inputs).levels
        return found[levels] / found[0]

    def bound_grown(self, n: int, levels: int) -> float:
        """Return by what factor so many levels make the bound of the error larger."""
        return bound(n, levels) / bound(n, 0)

    def errors_table(self, n: int, *kernels: str) -> Output:
        """List errors of uniform numbers by levels beside cuBLAS's: of its leaves, and kernels'."""
        ways = {"FP32": self, **{kernel: self.inside(kernel) for kernel in kernels}}
        kinds = (UNIFORM, "positive")
        found = {f"{name}, {INPUTS[kind]}": way.errors(n, kind)
                 for kind in kinds for name, way in ways.items()}  # fmt: skip
        most = min(len(one.levels) for one in found.values())
        rows = [[said, *(f"{error * 1e6:#.3g}" for error in (one.cublas, *one.levels[:most]))]
                for said, one in found.items()]  # fmt: skip
        counted = (plural(levels, "level") for levels in range(most))
        heads = ["error in 10⁻⁶: leaves, inputs", "cuBLAS", *counted]
        return table(heads, rows, note=self.note)

    @property
    def peak(self) -> float:
        """TFLOP/s that the GPU's units could do at the most in its arithmetic: the roof."""
        return FLOP_PER_WARP_FMA * rates(find_gpu(self.gpu), self.arithmetic)[PEAK] / 1e3

    def closing(self, n: int) -> Output:
        """Return the closing box of the plan that the model takes for n×n matrices."""
        way, plain, times = self.best(n), self.plain(n), self.at(n)
        model = [2 * n**3 / self.predicted(n, one).seconds / 1e12 for one in (plain, way)]
        speeds = self.tflops(n, plain), self.tflops(n, way)
        took = 1e3 * statistics.median(way.additions or way.seconds)
        total = 1e3 * statistics.median(way.seconds)
        left = (7 / 8) ** way.levels
        products = statistics.median(way.products or way.seconds)
        leaves = left * 2 * n**3 / products / 1e12 / self.peak
        before, what, limit = speeds[0] / self.peak, plural(way.levels, "level"), self.peak / left
        name, units = "strassen", "FP32 units"
        if self.arithmetic != "fp32":
            name, units = f"{name} on tensor cores", "three FP16 products"
        of_time = products * 1e3 / total
        says = (
            f", {self.peak:.1f} ÷ {left:.3f} (FLOP left) = {limit:.1f} TFLOP/s, "
            f"{speeds[1] / limit:.0%} reached. Leaves run "
            f"{of_time:.0%} of the time and reach {leaves:.1%} of the peak."
        )
        gained, equals, fewer, in_leaves, faster = product_texts(
            speeds[1] / speeds[0], 1 / left, of_time, leaves / before
        )
        costs = "" if leaves > before else " and smaller leaves"
        rows = [
            ("Before", f"no levels: {before:.1%} of the peak of {units}."),
            ("What changed",
             f"{what}: {7**way.levels:,} products instead of {8**way.levels:,}, and additions that "
             f"move {bytes_moved_text(way.moved_bytes)}."),
            (f"Why {gained}×",
             f"Fewer FLOP gain more than the additions{costs} lose. "
             f"{gained} {equals} {fewer} (fewer FLOP) × {in_leaves} (time left to leaves) × "
             f"{faster} ({'faster' if leaves > before else 'slower'} leaves)."),
        ]  # fmt: skip
        numbers = [
            ("Factor",
             f"{speeds[1]:.1f} ÷ {speeds[0]:.1f} TFLOP/s = {speeds[1] / speeds[0]:.2f}; "
             f"{times.share(way):.2f} over cuBLAS in the same run"),
            ("Estimated",
             f"{model[1]:.1f} ÷ {model[0]:.1f} TFLOP/s = {model[1] / model[0]:.2f} by the model"),
            ("Additions",
             f"{took:.1f} of {total:.1f} ms; at the bandwidth of a copy "
             f"{1e3 * self.predicted(n, way).additions:.1f} ms"),
        ]  # fmt: skip
        multiply, most = peak_of(find_gpu(self.gpu), self.arithmetic)
        bars = Bars(
            [("no levels", speeds[0]), (what, speeds[1])], limit, most / 1e3, multiply, "TFLOP/s"
        )
        bound = f"Limited by the peak of {units}", says
        made = Box(name, (n, n, n), bound, rows, numbers, self.note, bars)
        return Output(made.html(), made.text())

    @property
    def note(self) -> str:
        """Where and when it was measured."""
        return f"Recorded on {self.gpu}, {self.run.date[:10]}."


def strassen_results(gpu: str = "") -> StrassenResults:
    """Return the record of Strassen's product: times and errors, predicted and measured.

    Args:
        gpu: a part of the GPU's name; by default the one that ``lab`` speaks of.

    Raises:
        LabError: there is none.
    """
    records = [one for one in STRASSEN_RECORDS.load_all() if gpu in one.gpu.name]
    if not records:
        raise LabError(
            "Strassen's product was not recorded. Run 'sgemm-lab strassen record' on a GPU."
        )
    shown = [one.gpu.name for one in session.book_records()]
    record = min(
        records,
        key=lambda one: shown.index(one.gpu.name) if one.gpu.name in shown else len(shown),
    )
    return StrassenResults(record.gpu.name, latest(record), book_machine(record.gpu))


def strassen(levels: int = 2, size: AnySize | None = None) -> Output:
    """Multiply random matrices by levels of Strassen's algorithm, and say what that took.

    On a GPU by the book's kernels, 8192×8192×8192 by default; without one in NumPy, then smaller.

    Raises:
        LabError: the levels do not fit.
    """
    live = has_gpu()
    size = size_of(size or (GPU_SIZE if live else NUMPY_SIZE))
    plan = make_plan(size, levels)
    error = random_product_error(plan, live=live)
    rows = [
        ["products", f"{plan.products:,} of {size_text(plan.leaf)}"],
        ["instead of", f"{8**levels:,}"],
        ["multiply-adds", f"{(7 / 8) ** levels:.1%} of those by the definition"],
        ["workspace", bytes_moved_text(plan.workspace_bytes)],
        ["bytes that additions move", bytes_moved_text(plan.moved_bytes)],
        ["norm-wise error", error_text(error)],
    ]
    where = "on this GPU" if live else "in NumPy: no GPU here"
    return table(["", f"{size_text(size)}, {where}"], rows, numbers=1)
