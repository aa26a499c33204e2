"""Roofs of a GPU, given as a mapping as in the widgets.

A GPU has ``peak_gflops`` and ``levels``, each with ``id`` and ``gbs``. ``roofs.ts`` is the same.
"""

from collections.abc import Mapping
from typing import Any


def reference_levels(gpu: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one roof per memory level, if possible the measured one, lowest first."""
    chosen: dict[str, dict[str, Any]] = {}
    for level in gpu["levels"]:
        chosen.setdefault(level["id"], level)
    return sorted(chosen.values(), key=lambda level: float(level["gbs"]))


def roof_at(gpu: Mapping[str, Any], level: str, intensity: float) -> float:
    """Return the GFLOP/s that a memory level allows at an intensity in FLOP/B.

    A level that the GPU does not list allows the arithmetic peak.
    """
    for roof in reference_levels(gpu):
        if roof["id"] == level:
            return min(float(gpu["peak_gflops"]), float(roof["gbs"]) * intensity)
    return float(gpu["peak_gflops"])
