"""Effect of a tile on arithmetic intensity, resources and the bound, for FP32 C = A·B.

``tile.ts`` is the same in JavaScript; a test compares the two.

All intensities are in FLOP per byte, bandwidths in GB/s (10⁹ bytes per second), rates in GFLOP/s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sgemm_lab.formulas.roofs import reference_levels
from sgemm_lab.hardware import (
    FLOAT_BYTES,
    FLOP_PER_WARP_FMA,
    WAVEFRONT_BYTES,
)

CONSTANT_NAMES = ("TILE", "BM", "BN", "BK", "TM", "TN")


@dataclass(frozen=True)
class Tile:
    """A block tile of ``bm``×``bn`` elements of C with K tiles of ``bk``.

    Each thread computes ``tm``×``tn`` elements. Constants that a kernel lacks are 1.
    """

    bm: int = 1
    bn: int = 1
    bk: int = 1
    tm: int = 1
    tn: int = 1
    wavefronts: float = 0.0
    """Counted wavefronts of shared memory and L1 per warp FMA; 0 if not counted."""

    @classmethod
    def from_constants(
        cls, constants: Mapping[str, int], counted: Mapping[str, float] | None = None
    ) -> "Tile":
        """Build a tile from a kernel's constants; ``TILE`` sets BM, BN and BK.

        ``counted``: wavefronts by the values of the constants, joined by commas: "16", "64,64,8".
        """
        side = constants.get("TILE", 1)
        key = ",".join(str(value) for value in constants.values())
        return cls(
            wavefronts=(counted or {}).get(key, 0.0),
            bm=constants.get("BM", side),
            bn=constants.get("BN", side),
            bk=constants.get("BK", side),
            tm=constants.get("TM", 1),
            tn=constants.get("TN", 1),
        )

    @property
    def block_intensity(self) -> float:
        """FLOP per byte read from global memory, if each block reads its strips once."""
        return tile_intensity(self.bm, self.bn)

    @property
    def thread_intensity(self) -> float:
        """FLOP per byte of shared memory: as counted, else if each thread reads fragments once."""
        if self.wavefronts:
            return FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * self.wavefronts)
        return tile_intensity(self.tm, self.tn)

    @property
    def uses_shared(self) -> bool:
        """Whether the block tile has more than one element."""
        return self.bm * self.bn > 1

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: one strip of A and one of B."""
        return FLOAT_BYTES * self.bk * (self.bm + self.bn) if self.uses_shared else 0

    @property
    def threads(self) -> float:
        """Threads of a block; an integer if the thread tile divides the block tile."""
        return (self.bm / self.tm) * (self.bn / self.tn)

    @property
    def accumulators(self) -> int:
        """Accumulators of a thread, in registers."""
        return self.tm * self.tn


def tile_intensity(rows: int, columns: int) -> float:
    """Return the FLOP per byte of operands of a ``rows``×``columns`` tile.

    One step along K reads ``rows + columns`` floats for ``rows·columns`` multiply-adds, so the
    intensity is ab / (2(a + b)): 0.25 for 1×1, 4 for 16×16, 32 for 128×128.
    """
    return rows * columns / (2 * (rows + columns))


def compulsory_intensity(m: int, n: int, k: int) -> float:
    """Return the FLOP per byte if each element of A, B and C moves exactly once.

    No tile can do better: 2MNK / (4(MK + KN + MN)).
    """
    return 2 * m * n * k / (FLOAT_BYTES * (m * k + k * n + m * n))


@dataclass(frozen=True)
class Bound:
    """The lowest roof over a tile: ``limit`` is a level's id, or "peak"."""

    gflops: float
    limit: str


def bound(tile: Tile, gpu: Mapping[str, Any], matrix: Mapping[str, int]) -> Bound:
    """Return the lowest roof of ``gpu`` over ``tile``.

    The intensity for global memory is the block tile's, up to the compulsory limit; for shared
    memory it is the thread tile's, if the GPU has a roof for it. Ties go to the peak, then DRAM.
    """
    lowest = Bound(float(gpu["peak_gflops"]), "peak")
    intensities = {"dram": global_intensity(tile, matrix)}
    if tile.uses_shared:
        intensities["shared"] = tile.thread_intensity
    roofs = {level["id"]: float(level["gbs"]) for level in reference_levels(gpu)}
    for level, intensity in intensities.items():
        if level in roofs and roofs[level] * intensity < lowest.gflops:
            lowest = Bound(roofs[level] * intensity, level)
    return lowest


def global_intensity(tile: Tile, matrix: Mapping[str, int]) -> float:
    """Return the block tile's intensity, capped by the compulsory limit of the matrices."""
    limit = compulsory_intensity(matrix["m"], matrix["n"], matrix["k"])
    return min(tile.block_intensity, limit)
