"""A product on several GPUs as data: per GPU a list of steps, each a product, a send or a receive.

A plan knows nothing of CUDA. ``on_numpy`` runs it on any machine, ``model`` foretells its time, and
``engine`` runs it on GPUs.

A plan goes in rounds. In a round each GPU first multiplies what it holds; then it sends and
receives what later rounds multiply. That is the order in which the steps are right one after the
other. An engine may do more at once, as long as no buffer is overwritten before its last use and
none is read before it is filled: the double buffer of a kernel, one level up.
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
        """How many elements it has; 0 where a GPU has nothing."""
        return self.rows * self.columns

    @property
    def bytes(self) -> int:
        """What it takes in memory and on a link."""
        return FLOAT_BYTES * self.elements

    def __str__(self) -> str:
        rows = f"{self.row}:{self.row + self.rows}"
        return f"{self.matrix}[{rows}, {self.column}:{self.column + self.columns}]"


@dataclass(frozen=True)
class Multiply:
    """C's tile becomes, or where ``adds`` is told grows by, a tile of A times one of B."""

    round: int
    a: str
    """The buffer that holds the tile of A; ``b`` and ``c`` likewise."""
    b: str
    c: str
    size: Size
    """Rows, columns and terms of this product."""
    term: int
    """Where in K its terms begin."""
    adds: bool


@dataclass(frozen=True)
class Send:
    """A buffer's tile goes to another GPU."""

    round: int
    to: int
    buffer: str
    tile: Tile


@dataclass(frozen=True)
class Receive:
    """A tile comes from another GPU into a buffer."""

    round: int
    source: int
    buffer: str
    tile: Tile


Step = Multiply | Send | Receive


@dataclass(frozen=True)
class Share:
    """What one GPU has and does."""

    own: Mapping[str, Tile]
    """The tiles of A and B that it holds from the beginning, by buffer. No step overwrites them, so
    a plan can run again and again."""
    results: Mapping[str, Tile]
    """The tiles of C that it makes, by buffer."""
    steps: tuple[Step, ...]
    """In the order of rounds; within a round products come first."""

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
        """The elements that each buffer must have room for."""
        room = {name: tile.elements for name, tile in (*self.own.items(), *self.results.items())}
        for step in self.receives:
            room[step.buffer] = max(room.get(step.buffer, 0), step.tile.elements)
        return room

    @property
    def bytes(self) -> int:
        """The memory that its buffers take."""
        return FLOAT_BYTES * sum(self.buffers.values())


@dataclass(frozen=True)
class Plan:
    """A product C = A·B of M, N, K over some GPUs."""

    layout: str
    size: Size
    grid: tuple[int, int]
    """Rows and columns of GPUs; GPU ``i * columns + j`` stands in row i and column j."""
    panels: int
    """Pieces into which a GPU's part is cut further, so that transfers begin earlier."""
    shares: tuple[Share, ...]

    @property
    def gpus(self) -> int:
        """How many GPUs there are, those with nothing to do counted."""
        return len(self.shares)

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return 1 + max((s.round for share in self.shares for s in share.steps), default=-1)

    @property
    def flop(self) -> int:
        """FLOP of the whole product."""
        m, n, k = self.size
        return 2 * m * n * k

    def by_round(self) -> Iterator[tuple[list[tuple[int, Multiply]], list[tuple[int, Receive]]]]:
        """Yield, round by round, the products and the receives, each with its GPU.

        Sends are left out: every receive names its source.
        """
        products: list[list[tuple[int, Multiply]]] = [[] for _ in range(self.rounds)]
        receives: list[list[tuple[int, Receive]]] = [[] for _ in range(self.rounds)]
        for gpu, share in enumerate(self.shares):
            for step in share.steps:
                if isinstance(step, Multiply):
                    products[step.round].append((gpu, step))
                elif isinstance(step, Receive):
                    receives[step.round].append((gpu, step))
        yield from zip(products, receives, strict=True)

    def source_buffer(self, gpu: int, receive: Receive) -> str:
        """Return the buffer at the source out of which a GPU's receive comes.

        Raises:
            KeyError: nobody sends it; ``validity.check`` finds such plans.
        """
        for step in self.shares[receive.source].steps:
            if (
                isinstance(step, Send)
                and (step.round, step.to, step.tile) == (receive.round, gpu, receive.tile)
            ):  # fmt: skip
                return step.buffer
        raise KeyError(receive)
