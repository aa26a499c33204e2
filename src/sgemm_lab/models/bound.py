"""One bound per kernel: how fast the GPU's units let it be, by what it asks of them.

Every bound of the book comes from here: the ladder, the closing boxes, the roofline, the command
``scoreboard``. A bound follows from demand, counted per step (a multiply-add of a warp, 64 FLOP),
and from what a unit does in a clock by its design. It never follows from the time that a unit was
seen at work. So a kernel that reaches its bound proves something, and none passes it.

What is measured rather than designed, such as the bandwidth of L2, gives estimates. They stand
beside the bound and never take its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import most_on_one, worth_sharing
from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import FLOAT_BYTES, FLOP_PER_WARP_FMA, WARP
from sgemm_lab.kernel import Kernel, Size, load_kernel
from sgemm_lab.models.demand import GLOBAL, LOOKUPS, PRODUCTS, SHARED, block_demand
from sgemm_lab.records.gpu_record import Counted, Record, Score

PEAK, GRID, ISSUE, DATA, LOOKUP, L2, DRAM = (
    "peak", "grid", "issue", "data", "lookup", "l2", "dram",
)  # fmt: skip
"""The units. ``DATA`` is the pipe through which an SM moves the data of L1 and of shared memory."""

SCHEDULERS = 4
"""Warp schedulers of an SM; each starts one instruction per clock. CUDA C++ Programming Guide,
"Compute Capabilities": four from compute capability 7.x to 12.0."""

CLOCK_TOLERANCE = 0.01
"""Share by which a measurement may pass its bound: how well clocks and times are known."""

_LEAST = {PRODUCTS: 1.0, SHARED: 0.0, GLOBAL: 0.0, LOOKUPS: 0.0}
"""What any kernel asks for in a step, where nothing more is known of it."""

_ENDLESS = 10**9
"""SMs, more than there are pieces of any product."""

_UNIT_WORDS = {
    ISSUE: ("issue slots", "instructions"),
    LOOKUP: ("lookups in L1", "lookups"),
    L2: ("L2", "bytes"),
    DRAM: ("DRAM", "bytes"),
}


@dataclass(frozen=True)
class Cap:
    """What one unit leaves to a kernel."""

    unit: str
    label: str
    """The unit in words, as within a sentence."""
    demand: float
    """Of the unit, per step."""
    counted_in: str
    """What the demand counts, such as "wavefronts"."""
    rate: float
    """What the whole GPU does of it per second, in 10⁹."""
    clocks: float
    """Clocks of an SM that a step takes of it, the work spread evenly over all SMs."""
    gflops: float
    source: str
    """Where the demand comes from."""
    estimate: bool = False
    """The rate was measured, so a kernel may pass it: no bound."""


@dataclass(frozen=True)
class Bound:
    """The caps over a kernel at a size on a GPU, lowest first; the lowest is the bound."""

    kernel: str
    size: Size
    gpu: str
    caps: tuple[Cap, ...]
    estimates: tuple[Cap, ...]

    @property
    def cap(self) -> Cap:
        """The cap that binds."""
        return self.caps[0]

    @property
    def unit(self) -> str:
        """The unit that binds, in words."""
        return self.cap.label

    @property
    def gflops(self) -> float:
        """The bound in GFLOP/s."""
        return self.cap.gflops

    def of(self, unit: str) -> Cap | None:
        """Return the cap of a unit, an estimate too; None where its demand is not known."""
        return next((c for c in (*self.caps, *self.estimates) if c.unit == unit), None)

    def share(self, gflops: float) -> float:
        """Return the share of the bound that a measurement reaches."""
        return gflops / self.gflops


def cap_of(demand: float, rate: float) -> float:
    """Return the GFLOP/s that a unit leaves: 64 FLOP a step, times steps per second.

    Args:
        demand: of the unit, per step.
        rate: what the unit does per second, in 10⁹.
    """
    return FLOP_PER_WARP_FMA * rate / demand


def lowest(demands: Mapping[str, float], rates: Mapping[str, float]) -> tuple[str, float]:
    """Return the unit that leaves least, and its GFLOP/s. Of equals the first named.

    The rule that a slider needs: nothing but counts per step, and rates. Units without rate or
    without demand are left out.
    """
    caps = {u: cap_of(d, rates[u]) for u, d in demands.items() if d > 0 and u in rates}
    unit = min(caps, key=lambda name: caps[name])
    return unit, caps[unit]


def rates(gpu: Gpu, arithmetic: str = "fp32") -> dict[str, float]:
    """Return what the units of a GPU do per second by design, in 10⁹ of what each counts.

    Multiply-adds of a warp: FP32 lanes over 32, per clock and SM, or those that its tensor cores
    make of such factors over 32. Instructions: one per clock and scheduler. Wavefronts, and
    lookups: one per clock and SM. Bytes of DRAM: the data sheet's.

    Raises:
        LabError: the GPU's tensor cores do not take such factors.
    """
    clocks = gpu.sms * gpu.clock_mhz / 1e3
    products = clocks * gpu.fmas(arithmetic) / WARP
    return {
        PEAK: products,
        GRID: products,
        ISSUE: clocks * SCHEDULERS,
        DATA: clocks,
        LOOKUP: clocks,
        DRAM: gpu.dram_gbs,
    }


def bound(
    kernel: Kernel | str,
    size: Size,
    gpu: Gpu,
    record: Record | None = None,
    *,
    partly: bool = False,
) -> Bound:
    """Return the bound of a kernel at a size (M, N, K) on a GPU.

    Wavefronts, lookups and multiply-adds come from simulating one block. Instructions, and the
    bytes that really moved, are known only where the GPU's counters were recorded.

    Args:
        partly: where what a block asks for cannot be told, leave out L1 and shared memory. What
            is returned is still a bound, but a lower cap may be hidden. So it always is where
            tensor cores multiply: theirs is known.

    Raises:
        LabError: what a block asks for cannot be told, or the kernel cannot be compiled here.
    """
    kernel = load_kernel(kernel) if isinstance(kernel, str) else kernel
    try:
        block, source = block_demand(kernel).per_step(size), "counted in one block, simulated"
    except LabError:
        if not partly and kernel.arithmetic == "fp32":
            raise
        block, source = _LEAST, "one for each product"
    found = {
        PEAK: (block[PRODUCTS], source),
        GRID: (_on_the_busiest(kernel, size, gpu), "blocks of the grid over SMs"),
        DATA: (block[SHARED] + block[GLOBAL], source),
        LOOKUP: (block[LOOKUPS], source),
        DRAM: (_read_bytes(size) + _stored_bytes(size), "A, B and C once"),
        L2: (_read_bytes(size), "A and B once"),
    }
    if record is not None:
        found |= _counted(kernel, size, record)
    label = "shared memory" if block[SHARED] >= block[GLOBAL] else "L1"
    unit = "arithmetic" if kernel.arithmetic == "fp32" else "tensor cores"
    words = {
        **_UNIT_WORDS,
        PEAK: (unit, "multiply-adds"),
        GRID: (f"{unit} of the SM with the most blocks", "multiply-adds"),
        DATA: (label, "wavefronts"),
    }
    speeds = {**rates(gpu, kernel.arithmetic), **_measured_rates(record)}
    caps = sorted(
        (
            _cap(u, words[u], demand, speeds, source)
            for u, (demand, source) in found.items()
            if demand > 0 and u in speeds
        ),
        key=lambda cap: cap.gflops,
    )
    return Bound(
        kernel.name,
        size,
        gpu.name,
        tuple(cap for cap in caps if not cap.estimate),
        tuple(cap for cap in caps if cap.estimate),
    )


def bound_of(score: Score, gpu: Gpu, record: Record, *, partly: bool = False) -> Bound | None:
    """Return the bound over a measurement; ``partly`` as for :func:`bound`.

    At the clock that the run saw, where that is above the data sheet's: a GeForce goes past it.
    None if the kernel is no more, has changed since, or what it asks for cannot be told.
    """
    if score.run.clock_mhz is not None:
        gpu = replace(gpu, clock_mhz=max(gpu.clock_mhz, ceil(score.run.clock_mhz.max)))
    try:
        kernel = load_kernel(score.picked or score.kernel)
        if kernel.fingerprint != score.fingerprint:
            return None
        return bound(kernel, (score.m, score.n, score.k), gpu, record, partly=partly)
    except LabError:
        return None


def _cap(
    unit: str, words: tuple[str, str], demand: float, rates: Mapping[str, float], source: str
) -> Cap:
    label, counted_in = words
    rate = rates[unit]
    return Cap(
        unit,
        label,
        demand,
        counted_in,
        rate,
        clocks=demand * rates[DATA] / rate,  # a wavefront takes one clock
        gflops=cap_of(demand, rate),
        source=source,
        estimate=unit == L2,
    )


def _on_the_busiest(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    """Return the multiply-adds per step if every SM had as much work as the busiest.

    The launch lasts until the busiest SM is done. What SMs share out are whole blocks, or what a
    block would get on a GPU of endless SMs: windows of a tile, if sharing these is worth it. Tiles
    at the edge of C are left out: some of their threads may have nothing to do.
    """
    (m, n, k), tile = size, Tile.from_constants(kernel.values)
    rows, columns = min(m, tile.bm), min(n, tile.bn)
    down, across = m // rows, n // columns
    x, y = kernel.launch_shape(down * rows, across * columns, k, sms=_ENDLESS).grid
    pieces, tiles = x * y, down * across
    least = kernel.values.get("WORTH")
    if least is not None and not worth_sharing(tiles, ceil(k / tile.bk), gpu.sms, least):
        pieces = tiles
    evenly = tiles * rows * columns / (m * n)
    return evenly * most_on_one(pieces, gpu.sms) * gpu.sms / pieces


def _read_bytes(size: Size) -> float:
    """Return the bytes of A and B per step: a race rotates its inputs past L2, so all are read."""
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n) / _steps(size)


def _stored_bytes(size: Size) -> float:
    """Return the bytes of C per step.

    For the same reason C of the launches before leaves L2 for DRAM meanwhile.
    """
    m, n, _ = size
    return FLOAT_BYTES * m * n / _steps(size)


def _counted(kernel: Kernel, size: Size, record: Record) -> dict[str, tuple[float, str]]:
    """Return the demands that only a GPU's counters know: instructions, and bytes moved."""
    launches = record.launches(kernel)
    found: dict[str, tuple[float, str]] = {}
    instructions = _instructions(kernel, size, launches)
    if instructions is not None:
        found[ISSUE] = (instructions, "counted by the GPU")
    if size in launches:
        values = launches[size].values
        # The one launch that is counted may leave a part of C in L2; in a race it leaves that too.
        written = max(values.get("dram_write_bytes", 0.0), _stored_bytes(size) * _steps(size))
        moved = {
            L2: values.get("l2_to_l1_bytes", 0.0),
            DRAM: values.get("dram_read_bytes", 0.0) + written,
        }
        found |= {u: (v / _steps(size), "counted by the GPU") for u, v in moved.items() if v}
    return found


def _instructions(kernel: Kernel, size: Size, launches: Mapping[Size, Counted]) -> float | None:
    """Return the instructions per step, of all warps.

    Counted at this size; or else at least what the loop over K takes, by two cubes that were
    counted: a block takes a + b · K. None where neither is there.
    """
    name = "warp_instructions"
    if size in launches and name in launches[size].values:
        return launches[size].values[name] / _steps(size)
    tile = Tile.from_constants(kernel.values)
    per_block = {
        k: entry.values[name] / ((m // tile.bm) * (n // tile.bn))
        for (m, n, k), entry in launches.items()
        if m == n == k and not m % tile.bm and not n % tile.bn and name in entry.values
    }
    if len(per_block) < 2:
        return None
    short, *_, long = sorted(per_block)
    per_k = (per_block[long] - per_block[short]) / (long - short)
    return per_k * WARP / (tile.bm * tile.bn)


def _measured_rates(record: Record | None) -> dict[str, float]:
    """Return the best rate at which L2 was read, in GB/s."""
    if record is None:
        return {}
    inside = [
        read.median
        for footprint, read in record.readings("bandwidth.read").items()
        if 2 * footprint <= record.gpu.l2_bytes
    ]
    return {L2: max(inside)} if inside else {}


def _steps(size: Size) -> float:
    m, n, k = size
    return m * n * k / WARP
