"""Which roof is the lowest over a kernel, and what would lift the kernel to the next one.

``limits.js`` says the same in JavaScript; a test holds the two equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sgemm_lab.hardware import FLOP_PER_WARP_FMA, WAVEFRONT_BYTES
from sgemm_lab.rules.roofs import reference_levels, roof_at
from sgemm_lab.text import number, percent

_ABOVE = 1.25  # a point this far over its roof is not held by it
_FAR = 0.5


class Ceiling(NamedTuple):
    """What a roof leaves to a kernel: ``level`` is a level's id, or "peak"."""

    level: str
    label: str
    gflops: float
    intensity: float


def ceilings(gpu: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[Ceiling]:
    """Return what each roof leaves at a kernel's intensities, lowest first, the peak last.

    Left out are levels whose memory could feed the peak, and those whose roof the kernel is above.
    """
    peak = float(gpu["peak_gflops"])
    labels = {level["id"]: str(level["label"]) for level in reference_levels(gpu)}
    found = [
        Ceiling(p["level"], labels[p["level"]], roof, float(p["intensity"]))
        for p in points
        if p["level"] in labels
        and (roof := roof_at(gpu, p["level"], p["intensity"])) < peak
        and p["gflops"] <= _ABOVE * roof
    ]
    return [*sorted(found, key=lambda one: one.gflops), Ceiling("peak", "the FP32 peak", peak, 0)]


def limit_words(gpu: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    """Say which roof holds a kernel, how near it is, and what the next roof would take.

    Args:
        gpu: the GPU with its roofs.
        points: the points of one kernel on that GPU, predicted or measured.
    """
    measured = [point for point in points if point["kind"] == "measured"]
    lowest, *others = ceilings(gpu, measured or points)
    if not measured:
        return _expected(gpu, lowest, others)
    speed = float(measured[0]["gflops"])
    above = [p for p in measured if speed > _ABOVE * roof_at(gpu, p["level"], p["intensity"])]
    if len(above) == len(measured):
        roof = roof_at(gpu, above[0]["level"], above[0]["intensity"])
        return (
            f"It stands {number(speed / roof)} times above this roof: caches serve most of what "
            "its threads ask for. The bytes that really move are not counted on this GPU."
        )
    share = percent(speed / lowest.gflops)
    if not others:
        return (
            f"No memory roof over this kernel is lower than the FP32 peak, "
            f"{number(lowest.gflops)} GFLOP/s. It reaches {share} of it: the rest goes to other "
            "instructions and to waiting, not to bytes."
        )
    per_fma = FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * lowest.intensity)
    shared = lowest.level == "shared"
    cost = f" ({number(per_fma)} wavefronts per multiply-add of a warp)" if shared else ""
    unit = "wavefronts per multiply-add" if shared else f"{lowest.label} bytes per FLOP"
    far = " At less than half of its roof, more than bytes holds it back."
    return (
        f"The lowest roof over this kernel is {_inside(lowest)}, {number(lowest.gflops)} "
        f"GFLOP/s{cost}; it reaches {share} of that. The next is {_inside(others[0])} at "
        f"{number(others[0].gflops)}: it takes {_times(others[0], lowest)} times fewer {unit}."
        f"{far if speed < _FAR * lowest.gflops else ''}"
    )


def _expected(gpu: Mapping[str, Any], lowest: Ceiling, others: Sequence[Ceiling]) -> str:
    start = f"Not measured on {gpu['name']}. By what its threads ask for, "
    if not others:
        return f"{start}memory would keep up with the FP32 peak, {number(lowest.gflops)} GFLOP/s."
    return (
        f"{start}{_inside(lowest)} would leave it {number(lowest.gflops)} GFLOP/s; the FP32 peak "
        f"takes {_times(others[-1], lowest)} times fewer bytes per FLOP."
    )


def _inside(ceiling: Ceiling) -> str:
    """Return a roof's name as it stands within a sentence."""
    return "shared memory" if ceiling.level == "shared" else ceiling.label


def _times(higher: Ceiling, lower: Ceiling) -> str:
    return number(higher.gflops / lower.gflops)
