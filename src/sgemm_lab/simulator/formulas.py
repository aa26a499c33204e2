"""Formulas of the hardware that only TypeScript has, asked of the simulator's process.

The rules are in ``formulas/*.ts``. Addresses are in bytes for the 32 lanes of a warp, None for
inactive lanes; ``width`` is bytes per lane.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sgemm_lab.formulas.wave_quantization import Product
from sgemm_lab.simulator import worker

Lanes = Sequence[int | None]


def _ask(name: str, *given: Any) -> Any:
    return worker.ask("formula", {"name": name, "given": given})


class Wavefront(NamedTuple):
    """One pass through the banks of shared memory."""

    phase: list[int]
    """Lanes of the phase."""
    words: dict[int, list[int]]
    """Lanes by the first word that they access."""


def global_sectors(addresses: Lanes, width: int) -> int:
    """Return the number of 32-byte sectors of one request to global memory."""
    found: int = _ask("globalSectors", addresses, width)
    return found


def shared_wavefronts(addresses: Lanes, width: int, *, is_load: bool) -> list[Wavefront]:
    """Return the wavefronts of one request to shared memory, in order."""
    found = _ask("sharedWavefronts", addresses, width, is_load)
    return [Wavefront(phase, dict(words)) for phase, words in found]


def asked(place: Mapping[str, Any] | None, addresses: Lanes, width: int) -> list[str]:
    """Return what each active lane asks for: "A[1][0] to A[1][3], bytes 256 to 271".

    ``place`` is the accessed array: its first byte ``start``, its dimensions ``shape``, its name
    ``array``; without it there are just the bytes.
    """
    found: list[str] = _ask("asked", place, [one for one in addresses if one is not None], width)
    return found


@dataclass(frozen=True)
class Pipeline:
    """A software pipeline of one block: durations in clocks, numbers of K tiles and stages."""

    latency: float
    """From the issue of a load to the arrival of its first data."""
    load: float
    """Clocks of the memory pipe per K tile."""
    compute: float
    """Clocks of the SM's arithmetic per K tile."""
    windows: int
    """K tiles of the block."""
    stages: int = 1
    """Buffers of the block in shared memory."""
    store: float = 0
    """Clocks in which a K tile goes from registers to its buffer."""


class Window(NamedTuple):
    """Times of one K tile in clocks: issue, arrival, end of load, begin and end of product."""

    number: int
    buffer: int
    asked: float
    comes: float
    """Arrival of the first data."""
    there: float
    begins: float
    done: float


def schedule(pipeline: Pipeline, early: int | None = None, *, ahead: bool = False) -> list[Window]:
    """Return the K tiles of a pipeline, in order.

    ``early`` of them are requested before the first arrives, by default as many as stages; with
    ``ahead``, each later one when a product begins.
    """
    early = pipeline.stages if early is None else early
    return [Window(**one) for one in _ask("schedule", asdict(pipeline), early, ahead)]


def tile_distribution(product: Product, sms: int, stream_k: bool = False) -> dict[str, float]:
    """Return the distribution of a product over ``sms`` SMs.

    With ``stream_k`` every SM gets the same number of K tiles, otherwise whole tiles
    (data-parallel). The result has full ``waves``; tiles of the ``last`` wave; ``idle`` SMs at the
    end; ``time`` in units of an SM's time for one tile; the shares of the SMs' time that are
    ``used`` for tiles and ``useful`` for elements of C.
    """
    found: dict[str, float] = _ask("tileDistribution", asdict(product), sms, stream_k)
    return found
