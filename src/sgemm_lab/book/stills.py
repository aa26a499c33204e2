"""Still pictures of the widgets: what their own TypeScript draws, as HTML in the built pages.

A page shows a widget's still until the widget has drawn itself, without scripts, and on paper.
"""

import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

from matplotlib.font_manager import findfont, get_font
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from sgemm_lab import bundles, npm
from sgemm_lab.errors import LabError
from sgemm_lab.files import PACKAGE

WIDTH = 686
"""Width in px of a widget in the column of a page that is 1,280 px wide."""
PAGE_STATE_MIME = "application/vnd.sgemm-lab.page-widgets+json"
PLACE = "<!-- still -->"
"""Stands in the place of a still until it is drawn."""

_STATE = re.compile(rf'<script type="{re.escape(PAGE_STATE_MIME)}">(.*?)</script>', re.DOTALL)
_PLACE = re.compile(
    rf'(data-model-id="(\w+)".{{,200}}?<div class="lab-widget-still">){PLACE}', re.DOTALL
)
_SIGNS = string.printable.strip() + " –—−×·µ°±≈≤≥→←²³₀₁₂…“”’√ΔΣ"


def fill(app: Sphinx) -> None:
    """Draw the widgets of all pages that were written, in one run of Node.

    Raises:
        ExtensionError: a widget cannot be drawn, or Node is missing.
    """
    site = Path(app.outdir)
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: text for path, text in texts.items() if PLACE in text}
    wanted = [(path, one) for path, text in pages.items() for one in _saved(text)]
    try:
        drawn = draw([saved for _, (_, saved) in wanted])
    except LabError as problem:
        raise ExtensionError(str(problem)) from None
    for path, text in pages.items():
        stills = {
            model_id: html
            for (of, (model_id, _)), html in zip(wanted, drawn, strict=True)
            if of == path
        }
        path.write_text(_PLACE.sub(partial(_filled, stills), text), encoding="utf-8")


def draw(saved: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the HTML of widgets at their saved states.

    Args:
        saved: of each widget ``state``, ``buffers`` and ``kind``, the name of one of the book's.

    Raises:
        LabError: a widget cannot be drawn; the message names it.
        MissingToolError: Node or its packages are missing.
    """
    if not saved:
        return []
    npm.fetch()
    asked = {"width": WIDTH, "advances": _advances(), "widgets": [_asked(one) for one in saved]}
    script = str(PACKAGE / "stills.mjs")
    done = npm.node(script, input=json.dumps(asked), stdout=PIPE, stderr=PIPE)
    if done.returncode:
        raise LabError(f"The widgets cannot be drawn. {done.stderr.strip()[:2000]}")
    drawn = json.loads(done.stdout)
    for one, answer in zip(saved, drawn, strict=True):
        if "error" in answer:
            raise LabError(f"The widget {one['kind']} cannot be drawn: {answer['error'][:1000]}")
        if not answer["html"]:
            raise LabError(f"The widget {one['kind']} drew nothing.")
    return [answer["html"] for answer in drawn]


def _filled(stills: Mapping[str, str], place: re.Match[str]) -> str:
    return place[1] + stills[place[2]]


def _saved(html: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the widgets of a page by model id."""
    for body in _STATE.findall(html):
        yield from json.loads(body).items()


def _asked(saved: Mapping[str, Any]) -> dict[str, Any]:
    file = bundles.FOLDER / "widgets" / f"{saved['kind']}.js"
    return {"state": saved["state"], "buffers": saved["buffers"], "file": str(file)}


def _advances() -> dict[str, float]:
    """Return the widths of signs in DejaVu Sans, in em: a wide font, so texts keep their room."""
    font = get_font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    return {sign: font.load_char(ord(sign)).linearHoriAdvance / 65536 / 100 for sign in _SIGNS}
