"""What the schedulers' issue slots are used for: multiply-adds, other instructions, nothing."""

from collections.abc import Mapping

from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.frame import PALE, PANEL_WIDTH, box, panel, words

_BAR = 22
_ROW = _BAR + 26
_OPACITIES = {"multiply-adds": 1.0, "other instructions": PALE, "empty": 0.0}
_NARROWEST = 34
"""A part narrower than this, in px, has its number above."""


def slots_panel(title: str, kernels: Mapping[str, tuple[float, float]]) -> Output:
    """Return a panel with a bar per kernel: slots that start multiply-adds, others, nothing.

    Each kernel has the shares of slots that start a multiply-add, and anything.
    """
    parts: list[str] = []
    said = []
    for row, (name, (products, issued)) in enumerate(kernels.items()):
        shares = {
            "multiply-adds": products,
            "other instructions": issued - products,
            "empty": 1 - issued,
        }
        y = row * _ROW
        parts.append(words(0, y + 14, name, bold=True))
        parts += _bar(y + 20, shares)
        said.append(f"{name}: " + ", ".join(f"{_percent(x)} {what}" for what, x in shares.items()))
    y = len(kernels) * _ROW + 6
    parts += _key(y)
    return panel(title, parts, y + 22, "; ".join(said) + ".")


def _bar(y: float, shares: dict[str, float]) -> list[str]:
    parts = []
    x = 0.0
    for what, share in shares.items():
        width = share * PANEL_WIDTH
        label, inside = _percent(share), width > _NARROWEST
        ink = "bg" if what == "multiply-adds" else "fg"
        parts.append(_part(what, x, y, width, _BAR, label if inside else "", ink))
        if not inside:
            parts.append(words(x + width / 2, y - 6, label, anchor="middle"))
        x += width
    return parts


def _percent(share: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * share:.0f} %"


def _part(
    what: str, x: float, y: float, width: float, height: float, label: str = "", ink: str = "fg"
) -> str:
    return box(x, y, width, height, "register", _OPACITIES[what], label, ink=ink)


def _key(y: float) -> list[str]:
    parts = []
    for x, what in ((0, "multiply-adds"), (112, "other instructions"), (254, "empty")):
        parts += [_part(what, x, y, 14, 14), words(x + 19, y + 12, what)]
    return parts
