"""What the ladder in WGSL measured on a card: one file a card, in the form that the page saves.

A new measurement takes the place of an earlier one. ``climb.js`` and ``native.py`` make such data.
"""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.records.json_files import record_path
from sgemm_lab.records.schema import FormError, decoded

FOLDER = "wgsl"
"""The folder in ``records`` that holds these files."""


@dataclass(frozen=True)
class CardRung:
    """The samples of one program."""

    name: str
    fingerprint: str
    """Of the program's code, without its variant's constants."""
    seconds: tuple[float, ...]
    """Of one product, in the order in which they were taken."""


@dataclass(frozen=True)
class LeftOut:
    """A program that a card cannot run."""

    name: str
    why: str
    """As a sentence goes on after a colon."""


@dataclass(frozen=True)
class Smaller:
    """What was measured at a smaller size."""

    size: int
    seconds: dict[str, tuple[float, ...]]
    """Every sample, by the name of the program."""


@dataclass(frozen=True)
class MeasuredCard:
    """A card as the ladder in WGSL found it."""

    form: str
    card: str
    date: str
    clock: str
    """Who told the time: "timestamps" of the card, or a browser's "wall clock"."""
    size: int
    """M = N = K."""
    copy_gbs: float
    """Read and written bytes together."""
    multiply_add_gflops: float
    """What the arithmetic reaches without memory."""
    rungs: tuple[CardRung, ...]
    left_out: tuple[LeftOut, ...] = ()
    smaller: tuple[Smaller, ...] = ()

    def gflops(self, name: str, fingerprint: str) -> float | None:
        """Return the median of a program, or None where this code of it was not measured."""
        for rung in self.rungs:
            if (rung.name, rung.fingerprint) == (name, fingerprint):
                return float(2 * self.size**3 / statistics.median(rung.seconds) / 1e9)
        return None


def card_path(records: Path, card: str) -> Path:
    """Return the file of a card among the records."""
    return record_path(records / FOLDER, card)


def load_card(path: Path) -> MeasuredCard | None:
    """Read such a file; None where there is none.

    Raises:
        LabError: it holds something else.
    """
    try:
        return decoded(MeasuredCard, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (FormError, ValueError) as fault:
        raise LabError(f"The file {path} is no measured card: {fault}.") from None
