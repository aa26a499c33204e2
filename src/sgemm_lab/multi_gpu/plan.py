"""A product on several GPUs as data: for each GPU a list of products and of tiles to receive.

A plan does not depend on CUDA. ``numpy_backend`` runs it on any machine, ``model`` predicts its
time, and ``engine`` runs it on GPUs.

A plan has rounds. In a round each GPU first multiplies the tiles in its buffers, then receives
tiles for later rounds, as their sources had them before. This sequential order is correct. An
engine may overlap steps, as long as no buffer is overwritten before its last use or read before it
is filled, as with double buffering in a kernel.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size


@dataclass(frozen=True)
class Tile:
    """A rectangle of A, B or C: its first row and column, and how many of each."""

    matrix: str
    row: int
    column: int
    rows: int
    columns: int

    @property
    def elements(self) -> int:
        """Number of elements; 0 for an empty tile."""
        return self.rows * self.columns

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return FLOAT_BYTES * self.elements

    def __str__(self) -> str:
        rows = f"{self.row}:{self.row + self.rows}"
        return f"{self.matrix}[{rows}, {self.column}:{self.column + self.columns}]"


@dataclass(frozen=True)
class Multiply:
    """A tile of C is set to a tile of A times one of B, or incremented by it if ``adds``."""

    round: int
    a: str
    """The buffer of the tile of A; ``b`` and ``c`` likewise."""
    b: str
    c: str
    size: Size
    """M, N, K of this product."""
    term: int
    """First index in K."""
    adds: bool


@dataclass(frozen=True)
class Receive:
    """Receive a tile from a buffer of another GPU into a buffer."""

    round: int
    source: int
    source_buffer: str
    buffer: str
    tile: Tile


Step = Multiply | Receive


@dataclass(frozen=True)
class Share:
    """Tiles and steps of one GPU."""

    own: Mapping[str, Tile]
    """Initial tiles of A and B by buffer. No step overwrites them, so a plan can run repeatedly."""
    results: Mapping[str, Tile]
    """Computed tiles of C by buffer."""
    steps: tuple[Step, ...]
    """By round; products come first within a round."""

    @property
    def products(self) -> tuple[Multiply, ...]:
        """The products among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Multiply))

    @property
    def receives(self) -> tuple[Receive, ...]:
        """The receives among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Receive))

    @property
    def buffers(self) -> dict[str, int]:
        """Capacity of each buffer in elements."""
        sizes = {name: tile.elements for name, tile in (*self.own.items(), *self.results.items())}
        for step in self.receives:
            sizes[step.buffer] = max(sizes.get(step.buffer, 0), step.tile.elements)
        return sizes

    @property
    def bytes(self) -> int:
        """Size of all buffers in bytes."""
        return FLOAT_BYTES * sum(self.buffers.values())


@dataclass(frozen=True)
class Plan:
    """A product C = A·B of M, N, K on several GPUs."""

    layout: str
    size: Size
    grid: tuple[int, int]
    """Rows and columns of GPUs; GPU ``i * columns + j`` is in row i and column j."""
    shares: tuple[Share, ...]

    @property
    def gpus(self) -> int:
        """Number of GPUs, including idle ones."""
        return len(self.shares)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return 1 + max((s.round for share in self.shares for s in share.steps), default=-1)

    @property
    def flop(self) -> int:
        """FLOP of the whole product."""
        m, n, k = self.size
        return 2 * m * n * k

    def by_round(self) -> Iterator[tuple[list[tuple[int, Multiply]], list[tuple[int, Receive]]]]:
        """Yield the products and the receives of each round, each with its GPU."""
        products: list[list[tuple[int, Multiply]]] = [[] for _ in range(self.rounds)]
        receives: list[list[tuple[int, Receive]]] = [[] for _ in range(self.rounds)]
        for gpu, share in enumerate(self.shares):
            for step in share.steps:
                if isinstance(step, Multiply):
                    products[step.round].append((gpu, step))
                else:
                    receives[step.round].append((gpu, step))
        yield from zip(products, receives, strict=True)
