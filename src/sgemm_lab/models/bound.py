"""Upper bounds of a kernel's speed, from its demand on each unit of the GPU.

Every bound of the book comes from here: the ladder, the closing boxes, the roofline, the command
``scoreboard``. A bound follows from the demand per step (one FMA of a warp, 64 FLOP) and from the
design throughput of a unit per clock, never from measured utilisation. So no kernel exceeds it.

Measured rates, such as the bandwidth of L2, give estimates. They are listed separately and never
replace the bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import max_tiles_per_sm, uses_stream_k
from sgemm_lab.gpu import Gpu
from sgemm_lab.hardware import FLOAT_BYTES, FLOP_PER_WARP_FMA, WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.demand import GLOBAL, LOOKUPS, PRODUCTS, SHARED, block_demand
from sgemm_lab.records.gpu_record import Counted, Record, Score

PEAK, GRID, ISSUE, DATA, LOOKUP, L2, DRAM = (
    "peak", "grid", "issue", "data", "lookup", "l2", "dram",
)  # fmt: skip
"""The units. ``DATA`` is the pipe through which an SM moves the data of L1 and of shared memory."""

SCHEDULERS = 4
"""Warp schedulers of an SM; each issues one instruction per clock. CUDA C++ Programming Guide,
"Compute Capabilities": four from compute capability 7.x to 12.0."""

CLOCK_TOLERANCE = 0.01
"""Share by which a measurement may exceed its bound: the uncertainty of clocks and times."""

_LEAST = {PRODUCTS: 1.0, SHARED: 0.0, GLOBAL: 0.0, LOOKUPS: 0.0}
"""Least demand of any kernel per step."""

_ENDLESS = 10**9
"""More SMs than any product has work units."""

_UNIT_WORDS = {
    ISSUE: ("issue slots", "instructions"),
    LOOKUP: ("lookups in L1", "lookups"),
    L2: ("L2", "bytes"),
    DRAM: ("DRAM", "bytes"),
}


@dataclass(frozen=True)
class Cap:
    """The limit that one unit sets for a kernel."""

    unit: str
    label: str
    """The unit's name within a sentence."""
    demand: float
    """Of the unit, per step."""
    counted_in: str
    """Unit of the demand, such as "wavefronts"."""
    rate: float
    """Throughput of the whole GPU per second, in 10⁹."""
    clocks: float
    """Clocks of an SM per step, with the work spread evenly over all SMs."""
    gflops: float
    source: str
    estimate: bool = False
    """Whether the rate is measured; then a kernel may exceed the cap."""


@dataclass(frozen=True)
class Bound:
    """The caps of a kernel at a size on a GPU, lowest first; the lowest is the bound."""

    kernel: str
    size: Size
    gpu: str
    caps: tuple[Cap, ...]
    estimates: tuple[Cap, ...]

    @property
    def cap(self) -> Cap:
        """The lowest cap."""
        return self.caps[0]

    @property
    def unit(self) -> str:
        """Name of the limiting unit."""
        return self.cap.label

    @property
    def gflops(self) -> float:
        """The bound in GFLOP/s."""
        return self.cap.gflops

    def of(self, unit: str) -> Cap | None:
        """Return the cap or estimate of a unit; None if its demand is unknown."""
        return next((c for c in (*self.caps, *self.estimates) if c.unit == unit), None)

    def share(self, gflops: float) -> float:
        """Return the share of the bound that a measurement reaches."""
        return gflops / self.gflops


def cap_of(demand: float, rate: float) -> float:
    """Return the GFLOP/s that a unit allows: 64 FLOP per step, times steps per second.

    ``demand`` is per step, ``rate`` the unit's throughput per second in 10⁹.
    """
    return FLOP_PER_WARP_FMA * rate / demand


def rates(gpu: Gpu, arithmetic: str = "fp32") -> dict[str, float]:
    """Return the design throughput of a GPU's units per second, in 10⁹.

    Per clock and SM: warp FMAs, which are FP32 lanes over 32, or the tensor cores' multiply-adds
    over 32; one instruction per scheduler; one wavefront; one lookup. DRAM: the data sheet's GB/s.
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
    kernel: Kernel,
    size: Size,
    gpu: Gpu,
    record: Record | None = None,
    *,
    partial: bool = False,
) -> Bound:
    """Return the bound of a kernel at a size (M, N, K) on a GPU.

    Wavefronts, lookups and multiply-adds come from simulating one block. Instructions, and the
    bytes actually moved, need recorded counters of the GPU. A ``partial`` bound omits L1 and shared
    memory if the per-block demand is unknown, as it always is for kernels on tensor cores: it is a
    bound, but not always the lowest.
    """
    try:
        block, source = block_demand(kernel).per_step(size), "counted in one block, simulated"
    except LabError:
        if not partial and kernel.arithmetic == "fp32":
            raise
        block, source = _LEAST, "one for each product"
    found = {
        PEAK: (block[PRODUCTS], source),
        GRID: (_busiest_sm_demand(kernel, size, gpu), "blocks of the grid over SMs"),
        DATA: (block[SHARED] + block[GLOBAL], source),
        LOOKUP: (block[LOOKUPS], source),
        DRAM: (_read_bytes(size) + _stored_bytes(size), "A, B and C once"),
        L2: (_read_bytes(size), "A and B once"),
    }
    if record is not None:
        tile = Tile.from_constants(kernel.values)
        found |= _counted(record.launches(kernel), tile, size)
    label = "shared memory" if block[SHARED] >= block[GLOBAL] else "L1"
    unit = "arithmetic" if kernel.arithmetic == "fp32" else "tensor cores"
    words = {
        **_UNIT_WORDS,
        PEAK: (unit, "multiply-adds"),
        GRID: (f"{unit} of the busiest SM", "multiply-adds"),
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


def bound_of(
    kernel: Kernel, score: Score, gpu: Gpu, record: Record, *, partial: bool = False
) -> Bound | None:
    """Return the bound over a measurement of ``kernel``; ``partial`` as for :func:`bound`.

    The clock is the highest that the run saw if that is above the data sheet's, because GeForce
    cards run faster than their data sheets say. None if the measurement is of other code, or the
    demand of the kernel's blocks is not known.
    """
    if kernel.fingerprint != score.fingerprint:
        return None
    if score.run.clock_mhz is not None:
        gpu = replace(gpu, clock_mhz=max(gpu.clock_mhz, ceil(score.run.clock_mhz.max)))
    try:
        return bound(kernel, score.size, gpu, record, partial=partial)
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


def _busiest_sm_demand(kernel: Kernel, size: Size, gpu: Gpu) -> float:
    """Return the multiply-adds per step if every SM had as much work as the busiest one.

    The launch ends with the busiest SM. Work units are whole blocks, or K tiles of an output tile
    where the kernel splits those evenly (found by a launch on unlimited SMs). Edge tiles of C are
    ignored, because some of their threads may be idle.
    """
    (m, n, k), tile = size, Tile.from_constants(kernel.values)
    rows, columns = min(m, tile.bm), min(n, tile.bn)
    down, across = m // rows, n // columns
    x, y = kernel.launch_shape(down * rows, across * columns, k, sms=_ENDLESS).grid
    pieces, tiles = x * y, down * across
    if x == _ENDLESS:  # as many blocks as SMs, which take whole tiles in turn
        pieces = tiles
    least = kernel.values.get("WORTH")
    if least is not None and not uses_stream_k(tiles, ceil(k / tile.bk), gpu.sms, least):
        pieces = tiles
    evenly = tiles * rows * columns / (m * n)
    return evenly * max_tiles_per_sm(pieces, gpu.sms) * gpu.sms / pieces


def _read_bytes(size: Size) -> float:
    """Return the bytes of A and B per step; the benchmark rotates its inputs past L2."""
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n) / _steps(size)


def _stored_bytes(size: Size) -> float:
    """Return the bytes of C per step, which the rotation evicts from L2 to DRAM."""
    m, n, _ = size
    return FLOAT_BYTES * m * n / _steps(size)


def _counted(
    launches: Mapping[Size, Counted], tile: Tile, size: Size
) -> dict[str, tuple[float, str]]:
    """Return the demands from hardware counters: instructions, and bytes moved."""
    found: dict[str, tuple[float, str]] = {}
    instructions = _instructions(launches, tile, size)
    if instructions is not None:
        found[ISSUE] = (instructions, "counted by the GPU")
    if size in launches:
        values = launches[size].values
        # The counted launch may leave a part of C in L2, from where a benchmark evicts it.
        written = max(values.get("dram_write_bytes", 0.0), _stored_bytes(size) * _steps(size))
        moved = {
            L2: values.get("l2_to_l1_bytes", 0.0),
            DRAM: values.get("dram_read_bytes", 0.0) + written,
        }
        found |= {u: (v / _steps(size), "counted by the GPU") for u, v in moved.items() if v}
    return found


def _instructions(launches: Mapping[Size, Counted], tile: Tile, size: Size) -> float | None:
    """Return the warp instructions per step, or None if they are unknown.

    They are counted at this size, or else extrapolated as the main loop's from two counted cubes: a
    block takes a + b · K.
    """
    name = "warp_instructions"
    if size in launches and name in launches[size].values:
        return launches[size].values[name] / _steps(size)
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
    """Return the highest measured read bandwidth of L2, in GB/s."""
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
