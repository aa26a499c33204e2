"""Measurements of the WGSL ladder: one file per card, in the format that the page saves.

A new measurement replaces the earlier one. ``reader_card.ts`` makes these data.
"""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.records.gpu_record import Name
from sgemm_lab.records.json_files import record_path
from sgemm_lab.records.schema import SchemaError, decode

FOLDER = "wgsl"


@dataclass(frozen=True)
class CardStep:
    """Samples of one program."""

    name: Name
    fingerprint: str
    """Of the program's code, without the constants of its variant."""
    seconds: tuple[float, ...]
    """Per product, in the order taken."""


@dataclass(frozen=True)
class MeasuredCard:
    """The WGSL ladder on one card."""

    form: str
    card: str
    date: str
    clock: str
    """The timer: "timestamps" of the card, or the browser's "wall clock"."""
    size: int
    """M = N = K."""
    rungs: tuple[CardStep, ...]

    def gflops(self, name: str, fingerprint: str) -> float | None:
        """Return a program's median GFLOP/s, or None if this source was not measured."""
        for step in self.rungs:
            if (step.name, step.fingerprint) == (name, fingerprint):
                return float(2 * self.size**3 / statistics.median(step.seconds) / 1e9)
        return None


def card_path(records: Path, card: str) -> Path:
    """Return the path of a card's file."""
    return record_path(records / FOLDER, card)


def load_card(path: Path) -> MeasuredCard | None:
    """Read a card's file, or return None if there is none."""
    try:
        return decode(MeasuredCard, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (SchemaError, ValueError) as fault:
        raise LabError(f"The file {path} is not a measured card: {fault}.") from None
