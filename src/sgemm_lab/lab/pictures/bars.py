"""Kernels as bars beside cuBLAS: one glance at a speed."""

from collections.abc import Mapping

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, panel, rectangle, stroke, words
from sgemm_lab.records.gpu_record import Score
from sgemm_lab.text import number

_ROW = 48
_BAR = 20
_TOP = 22


def share_bars(title: str, scores: Mapping[str, Score]) -> Output:
    """Draw the share of cuBLAS that kernels reach as bars, with cuBLAS as a line.

    Args:
        scores: what ``measure(…).of(name)`` gives, by what stands above the bar.
    """
    shares = {name: score.share for name, score in scores.items()}
    scale = (PANEL_WIDTH - 2) / max(1.15, *shares.values())
    height = _TOP + _ROW * len(shares)
    line = stroke(f"M{scale:g} {_TOP - 4}V{height - 6}", "cublas", thick=2, dashed=True)
    parts = [words(scale + 6, 12, "cuBLAS", hue="cublas", anchor="end", bold=True)]
    for at, (name, share) in enumerate(shares.items()):
        y = _TOP + at * _ROW
        said = f"{name}: {100 * share:.0f} % of cuBLAS, {number(scores[name].gflops)} GFLOP/s"
        parts.append(words(0, y + 12, said))
        parts.append(rectangle(0, y + 17, max(2.0, share * scale), _BAR, "kernel", 0.75))
    described = "; ".join(f"{name} reaches {100 * s:.0f} % of cuBLAS" for name, s in shares.items())
    return panel(title, [*parts, line], height, f"{described}.")
