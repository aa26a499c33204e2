"""Find the roof that limits a kernel, and what the next roof would require.

``limits.ts`` is the same in JavaScript; a test compares the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sgemm_lab.formulas.roofs import reference_levels, roof_at
from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.hardware import FLOP_PER_WARP_FMA, WAVEFRONT_BYTES

ABOVE = 1.25
"""A point this factor above a roof is not limited by it."""
FAR = 0.5
"""Below this share of its roof a kernel is limited by more than bandwidth."""


class Ceiling(NamedTuple):
    """The GFLOP/s that a roof allows a kernel; ``level`` is the id of a memory level, or "peak"."""

    level: str
    label: str
    gflops: float
    intensity: float


def ceilings(gpu: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[Ceiling]:
    """Return the ceilings at a kernel's intensities, lowest first, the peak last.

    Levels that could feed the peak, and levels whose roof the kernel exceeds, are omitted.
    """
    peak = float(gpu["peak_gflops"])
    labels = {level["id"]: str(level["label"]) for level in reference_levels(gpu)}
    found = [
        Ceiling(p["level"], labels[p["level"]], roof, float(p["intensity"]))
        for p in points
        if p["level"] in labels
        and (roof := roof_at(gpu, p["level"], p["intensity"])) < peak
        and p["gflops"] <= ABOVE * roof
    ]
    return [*sorted(found, key=lambda one: one.gflops), Ceiling("peak", "the FP32 peak", peak, 0)]


def limit_words(gpu: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    """Say which roof limits a kernel, how close it is, and what the next roof would require.

    Args:
        gpu: the GPU with its roofs.
        points: of one kernel on that GPU, predicted or measured. If the first measured one names
            its bound (``bound_by``, ``bound_gflops``), only that bound is reported.
    """
    measured = [point for point in points if point["kind"] == "measured"]
    lowest, *others = ceilings(gpu, measured or points)
    if not measured:
        return _expected(gpu, lowest, others)
    speed = float(measured[0]["gflops"])
    if unit := measured[0].get("bound_by"):
        cap = float(measured[0]["bound_gflops"])
        return sentence("limit.bound", unit=unit, gflops=cap, share=speed / cap)
    roofs = [roof_at(gpu, point["level"], point["intensity"]) for point in measured]
    if all(speed > ABOVE * roof for roof in roofs):
        return sentence("limit.above", times=speed / roofs[0])
    share = speed / lowest.gflops
    if not others:
        return sentence("limit.peak", gflops=lowest.gflops, share=share)
    cost, bytes_ = "", sentence("limit.bytes", roof=lowest.label)
    if lowest.level == "shared":
        per_fma = FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * lowest.intensity)
        cost, bytes_ = sentence("limit.cost", wavefronts=per_fma), sentence("limit.wavefronts")
    return sentence(
        "limit.lowest",
        roof=_inside(lowest),
        gflops=lowest.gflops,
        cost=cost,
        share=share,
        next=_inside(others[0]),
        next_gflops=others[0].gflops,
        times=others[0].gflops / lowest.gflops,
        unit=bytes_,
        far=sentence("limit.far") if speed < FAR * lowest.gflops else "",
    )


def _expected(gpu: Mapping[str, Any], lowest: Ceiling, others: Sequence[Ceiling]) -> str:
    if not others:
        return sentence("limit.expected peak", gpu=gpu["name"], gflops=lowest.gflops)
    return sentence(
        "limit.expected",
        gpu=gpu["name"],
        roof=_inside(lowest),
        gflops=lowest.gflops,
        times=others[-1].gflops / lowest.gflops,
    )


def _inside(ceiling: Ceiling) -> str:
    """Return a roof's name within a sentence."""
    return "shared memory" if ceiling.level == "shared" else ceiling.label
