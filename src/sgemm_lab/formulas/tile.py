"""The tile of a kernel and its arithmetic intensity. ``tile.ts`` reads constants the same way."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """A block tile of ``bm``×``bn`` elements of C with K tiles of ``bk``.

    Constants that a kernel lacks are 1.
    """

    bm: int = 1
    bn: int = 1
    bk: int = 1

    @classmethod
    def from_constants(cls, constants: Mapping[str, int]) -> "Tile":
        """Build a tile from a kernel's constants; ``TILE`` sets BM, BN and BK."""
        side = constants.get("TILE", 1)
        return cls(
            bm=constants.get("BM", side),
            bn=constants.get("BN", side),
            bk=constants.get("BK", side),
        )

    @property
    def block_intensity(self) -> float:
        """FLOP per byte read from global memory, if each block reads its strips once.

        One step along K reads BM + BN floats for BM · BN multiply-adds.
        """
        return self.bm * self.bn / (2 * (self.bm + self.bn))
