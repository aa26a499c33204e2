"""How well kernels of others were predicted: what the tests compare, in a few numbers.

``prediction_accuracy.json`` has them. The tests hold it to the record of an H200 in ``tests/data``
and to their own list of wrong kernels.
"""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Seen:
    """Numbers of launches, of arrays and counters compared, and of wrong kernels."""

    launches: int
    """Launches of kernels in other people's styles, on an H200 and here."""
    arrays: int
    """Arrays after them, with whole numbers and with normal ones."""
    arrays_equal: int
    """Those of which every bit is the same."""
    counters: int
    counters_equal: int
    wrong_kernels: int
    """Kernels with one bug each."""
    wrong_found: int
    """Those that were rejected by the name of the bug."""
    texture_cases: int
    """Kernels that read a texture, or use a surface, on an H200 and here."""
    texture_numbers: int
    """What they read, each number with the same bits."""


def seen() -> Seen:
    """Return the numbers."""
    return Seen(**json.loads(FILE.read_text(encoding="utf-8")))
