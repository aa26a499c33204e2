"""What the expressions of exercises call: counts, models and measurements."""

from collections.abc import Callable

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.cached_counts import launch
from sgemm_lab.errors import LabError
from sgemm_lab.exercises.model import Found, Machine
from sgemm_lab.formulas.occupancy import LIMITS as LIMITS
from sgemm_lab.formulas.occupancy import Launch as Launch
from sgemm_lab.formulas.occupancy import occupancy as occupancy
from sgemm_lab.gemm.strassen.error import UNIFORM
from sgemm_lab.gemm.strassen.plan import LEAN, Plan, make_plan
from sgemm_lab.gpu import find_gpu as find_gpu
from sgemm_lab.hardware import FLOAT_BYTES, WARP
from sgemm_lab.kernel import Size
from sgemm_lab.models.demand import GLOBAL, SHARED, block_demand
from sgemm_lab.models.difference import differ
from sgemm_lab.multi_gpu.queries import RecordQueries, findings, median
from sgemm_lab.multi_gpu.queries import flop_per_link_byte as flop_per_link_byte
from sgemm_lab.records.multi_gpu import NCCL
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import STRASSEN_RECORDS, StrassenRun, latest
from sgemm_lab.simulator.formulas import shared_wavefronts
from sgemm_lab.text import error_text, factor_text, number, size_text

SQUARE: Size = (4096, 4096, 4096)

Finder = Callable[[Machine], Found]
"""Finds a measured number on a machine."""


# Counts and models


def sectors_per_turn(name: str, size: Size) -> float:
    """Return how many sectors a warp touches for each of its multiply-adds."""
    total = launch(load_kernel(name), size).result.counts.total
    return total.global_load_sectors * WARP / total.ffma_thread_instructions


def barriers(name: str, size: Size) -> int:
    """Return how many barriers a block passes, where all blocks pass as many."""
    total = launch(load_kernel(name), size).result.counts.total
    return total.barriers // blocks(name, size)


def blocks(name: str, size: Size) -> int:
    """Return how many blocks a kernel is launched with."""
    x, y = load_kernel(name).launch_shape(*size).grid
    return x * y


def wavefronts(name: str) -> float:
    """Return the wavefronts of a kernel per multiply-add of a warp, as its closing box counts."""
    block = block_demand(load_kernel(name)).per_step(SQUARE)
    return block[SHARED] + block[GLOBAL]


def wavefronts_of_stride(stride: int) -> int:
    """Return the wavefronts of a load whose lane i reads word stride · i."""
    addresses = [FLOAT_BYTES * stride * lane for lane in range(WARP)]
    return len(shared_wavefronts(addresses, FLOAT_BYTES, is_load=True))


def one_lean_level(n: int) -> Plan:
    """Return one level of Strassen's product of n×n matrices, a product at a time."""
    return Plan((n, n, n), (LEAN,))


# Measurements


def times_as_fast(
    name: str, other: str, size: Size = SQUARE, compared: Size | None = None
) -> Finder:
    """Return what finds how many times as fast a kernel is as another at a size.

    It also says how many times at the size ``compared``.
    """

    def found(machine: Machine) -> Found:
        kernels = [load_kernel(name), load_kernel(other)]
        speeds, source = machine.speeds(kernels, size)
        ratio = speeds[name] / speeds[other]
        says = (
            f"At {size_text(size)} `{kernels[0].display_name}` reaches {number(speeds[name])} "
            f"GFLOP/s and `{kernels[1].display_name}` {number(speeds[other])}: {_times(ratio)}."
        )
        if compared:
            speeds, _ = machine.speeds(kernels, compared)
            again = factor_text(speeds[name] / speeds[other])
            says += f" At {size_text(compared)} it is {again} times."
        return Found(ratio, source, says.replace(" × ", "\u00a0×\u00a0"))

    return found


def _times(ratio: float) -> str:
    """Return "1.37 times the speed", with "about the same" where that rule applies."""
    equal = "" if differ(ratio) else ", about the same"
    return f"{factor_text(ratio)} times the speed{equal}"


def times_as_fast_as_at(name: str, size: Size, other: Size) -> Finder:
    """Return what finds how many times as fast a kernel is at one size as at another."""

    def found(machine: Machine) -> Found:
        kernels = [load_kernel(name)]
        here, there = (machine.speeds(kernels, one) for one in (size, other))
        ratio = here[0][name] / there[0][name]
        says = (
            f"At {size_text(size)} `{kernels[0].display_name}` reaches {number(here[0][name])} "
            f"GFLOP/s, at {size_text(other)} {number(there[0][name])}: {_times(ratio)}."
        )
        return Found(ratio, here[1], says)

    return found


def error_over_cublas(name: str) -> Finder:
    """Return what finds a kernel's error at 4096³, divided by that of cuBLAS in FP32."""

    def found(_machine: Machine) -> Found:
        record = load_records()[0]
        ours, cublas = record.score(load_kernel(name), SQUARE), record.library("fp32", SQUARE)
        if not (ours and cublas and ours.error and cublas.error):
            raise LabError(f"The error of {name} was not recorded.")
        says = f"`{name}` has {error_text(ours.error)}, cuBLAS {error_text(cublas.error)}."
        source = f"Recorded on {record.gpu.name}, {ours.date[:10]}."
        return Found(ours.error / cublas.error, source, says)

    return found


def _of_strassen(what: Callable[[StrassenRun], tuple[float, str]]) -> Finder:
    """Return what finds a number and a sentence in the first record of Strassen's product."""

    def found(_machine: Machine) -> Found:
        records = STRASSEN_RECORDS.load_all()
        if not records:
            raise LabError(
                "Strassen's product was not recorded. Run 'sgemm-lab strassen record' on a GPU."
            )
        run = latest(records[0])
        value, says = what(run)
        return Found(value, f"Recorded on {records[0].gpu.name}, {run.date[:10]}.", says)

    return found


def fastest_levels(n: int) -> Finder:
    """Return what finds the fastest number of levels for n×n matrices, with usual workspace."""

    def fastest(run: StrassenRun) -> tuple[float, str]:
        times = run.at(n)
        usual = [o for o in times.ways if o.schedules == make_plan((n, n, n), o.levels).schedules]
        way = max(usual, key=lambda one: times.tflops(one.seconds))
        speed = f"{times.tflops(way.seconds):.1f} TFLOP/s"
        return way.levels, f"They reach {speed}, {times.share(way):.2f} times as fast as cuBLAS."

    return _of_strassen(fastest)


def error_of_two_levels(n: int) -> Finder:
    """Return what finds by what factor two levels make the error of n×n matrices larger."""

    def grown(run: StrassenRun) -> tuple[float, str]:
        errors = run.error_at(n, UNIFORM).levels
        says = f"The error went from {error_text(errors[0])} to {error_text(errors[2])}."
        return errors[2] / errors[0], says

    return _of_strassen(grown)


def _of_several_gpus(what: Callable[[RecordQueries], tuple[float, str]]) -> Finder:
    """Return what finds a number and a sentence in the record of several GPUs."""

    def found(_machine: Machine) -> Found:
        record = findings()
        value, says = what(record)
        source = f"Recorded on {record.record.gpu.name}s, {record.day}."
        return Found(value, source, says)

    return found


def slow_transfer(n: int) -> Finder:
    """Return what finds how many times as fast four GPUs are with 4 blocks of NCCL's."""

    def slower(record: RecordQueries) -> tuple[float, str]:
        fast = median(record.product(4, n, "cannon").overlap)
        few = record.product(4, n, "cannon", transport=NCCL, block_limit=4)
        slow = median(few.overlap)
        says = f"{number(1e3 * slow)} ms, and {number(1e3 * fast)} ms with the copy engines."
        return fast / slow, says

    return _of_several_gpus(slower)


def four_over_one(n: int) -> Finder:
    """Return what finds how many times as fast four GPUs are as one at n×n matrices.

    Small products are CUDA graphs.
    """

    def faster(record: RecordQueries) -> tuple[float, str]:
        graph = n <= 2048
        one = median(record.product(1, n, graph=graph).overlap)
        four = median(record.product(4, n, "cannon", graph=graph).overlap)
        unit, per = ("µs", 1e6) if graph else ("ms", 1e3)
        says = f"{number(per * four)} {unit} on four GPUs, {number(per * one)} {unit} on one."
        return one / four, says

    return _of_several_gpus(faster)
