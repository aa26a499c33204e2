"""Predict the time of a candidate from a few terms, each a count of what an SM does.

A launch takes as long as its busiest SM. Its time is a sum of ``TERMS``; what each of them costs is
fitted to measurements of the candidate (``fitting``), once for matrices whose rows float4 can read
and once for others. Copies of one block overlap with the arithmetic of another one on the same SM,
so K tiles cost twice: ``work`` counts those of all blocks of the busiest SM, which share its
arithmetic, and ``depth`` those that follow one another, each of which has a latency.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from sgemm_lab.formulas.wave_quantization import uses_stream_k
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size

TERMS = {
    "start": "launch and first loads",
    "read": "bytes of A and B",
    "written": "bytes of C",
    "work": "K tiles of all blocks of the busiest SM: their arithmetic",
    "depth": "K tiles of one block, times the rounds of blocks: the latency of each",
    "stores": "tiles that the busiest SM stores, as far as they are within C",
    "rounds": "rounds of blocks on an SM",
    "adds": "parts of a tile that are added one after another",
}
"""The terms of the time, in the order of ``Terms`` and of the coefficients of a fit."""

Terms = tuple[float, float, float, float, float, float, float, float]

VECTOR = 4
"""Floats of a float4."""


@dataclass(frozen=True)
class Slots:
    """How many blocks of a kernel a GPU runs at a time."""

    sms: int
    resident: int
    """Blocks of the kernel on an SM."""
    clusters: int = 0
    """Of a kernel with clusters: how many there can be with one block on each SM. Clusters do not
    cross the borders of a GPC, so these are fewer than SMs / blocks of a cluster."""


def terms(kernel: Kernel, size: Size, slots: Slots) -> Terms:
    """Return the terms of a candidate's time at M, N, K, each 1 or more."""
    return _SPECIAL.get(kernel.base_name, _tiled)(kernel, size, slots)


def is_aligned(kernel: Kernel, size: Size) -> bool:
    """Whether float4 can read the rows that a candidate reads so: of B, or of A in ``one_column``.

    The matrices are from an allocator.
    """
    _, n, k = size
    return (k if kernel.base_name == "one_column" else n) % VECTOR == 0


def _moved(size: Size) -> tuple[int, int]:
    """Return the bytes of A and B, and of C."""
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n), FLOAT_BYTES * m * n


def _within(size: Size, rows: int, columns: int) -> float:
    """Return the largest part of a tile that is within C."""
    m, n, _ = size
    return min(1, m / rows) * min(1, n / columns)


def _tiled(kernel: Kernel, size: Size, slots: Slots) -> Terms:
    """Terms of a kernel whose blocks compute a tile of C, or a part of K of one."""
    m, n, k = size
    values = kernel.values
    tiles = ceil(m / values["BM"]) * ceil(n / values["BN"])
    k_tiles = ceil(k / values.get("BK", 1))
    parts = values.get("SPLIT", 1)
    if kernel.base_name == "split_k":
        across, down = kernel.launch_shape(m, n, k, sms=slots.sms).grid
        parts = across * down // tiles
    # Whole clusters are placed: an SM has at most one block of each.
    at_once = slots.clusters or slots.sms / parts
    busiest = ceil(tiles / at_once)
    rounds = ceil(busiest / slots.resident)
    of_block = ceil(k_tiles / parts)
    adds = busiest * parts if parts > 1 and not slots.clusters else 0
    stores = busiest * _within(size, values["BM"], values["BN"])
    return 1, *_moved(size), busiest * of_block, rounds * of_block, stores, rounds, adds


def _stream_k(kernel: Kernel, size: Size, slots: Slots) -> Terms:
    """Terms of a Stream-K kernel: persistent blocks that may get equal numbers of K tiles."""
    m, n, k = size
    values = kernel.values
    tiles = ceil(m / values["BM"]) * ceil(n / values["BN"])
    k_tiles = ceil(k / values["BK"])
    least = values.get("WORTH")
    within = _within(size, values["BM"], values["BN"])
    stores = ceil(tiles / slots.sms) * within
    if least is not None and not uses_stream_k(tiles, k_tiles, slots.sms, least):
        return 1, *_moved(size), k_tiles, 0, stores, 0, 0
    cut = within if tiles % slots.sms else 0
    work = ceil(tiles * k_tiles / slots.sms)
    # A block waits for the sums of the next one, which waits for those of its next one.
    return 1, *_moved(size), work, 0, stores + cut, 0, ceil(slots.sms / tiles)


def _one_line(kernel: Kernel, size: Size, slots: Slots) -> Terms:
    """Terms of a kernel for C of few rows or columns, whose threads share K."""
    m, n, k = size
    values = kernel.values
    across, down = kernel.launch_shape(m, n, k, sms=slots.sms).grid
    busiest = ceil(across * down / slots.sms)
    rounds = ceil(across * down / (slots.sms * slots.resident))
    parts = values["PARTS"] if "PARTS" in values else 32 * values["WARPS"]
    work = busiest * values.get("BN", 1) * values["TM"] * k
    return 1, *_moved(size), work, rounds * ceil(k / parts), busiest, 0, 0


_SPECIAL: dict[str, Callable[[Kernel, Size, Slots], Terms]] = {
    "stream_k": _stream_k,
    "per_warp_stages": _stream_k,
    "one_row": _one_line,
    "one_column": _one_line,
}
