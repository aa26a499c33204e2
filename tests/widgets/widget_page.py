"""A page without a kernel, as the book has it: a widget's own code on a plain model object."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from sgemm_lab.bundles import bundled
from sgemm_lab.files import PACKAGE
from sgemm_lab.widgets import LabWidget

Opener = Callable[..., Page]
"""Opens a widget on a page of its own: the fixture ``show``."""
State = Callable[[Page, str], Any]
"""Reads one key of the page's model: the fixture ``state``."""

_PAGE_MODEL = PACKAGE / "widgets" / "page" / "model.ts"
"""The model of the book's pages, which the tests drive too."""

_WATCHED = """
class Watched extends PageModel {
  listeners = {};
  saves = 0;
  on(names, callback) {
    for (const name of names.split(" ")) (this.listeners[name] ??= new Set()).add(callback);
    super.on(names, callback);
  }
  off(names, callback) {
    for (const name of names.split(" ")) this.listeners[name].delete(callback);
    super.off(names, callback);
  }
  save_changes() {
    super.save_changes();
    this.saves += 1;
  }
}
"""
"""It counts what the tests ask about: saves, and who listens."""

# Rules of the book's theme that would reach into a widget if it let them.
_HOST_STYLE = """
p { margin-bottom: 1.15rem; } ul { margin: 1rem; padding-left: 2rem; } ul li { margin: 1rem; }
dl[class]:not(.option-list, .simple) { margin-bottom: 3rem; }
dl[class]:not(.option-list, .simple) dd { margin-left: 2rem; }
label { margin-bottom: 0.5rem; } code { background: #eee; color: #c0c; }
"""


def state_of(widget: LabWidget) -> dict[str, Any]:
    """What a saved notebook holds of ``widget``, less ipywidgets' own keys."""
    state = widget.get_state()
    return {k: v for k, v in state.items() if not k.startswith("_") and k != "layout"}


def page(widget: LabWidget, theme: str | None = "light") -> str:
    """An HTML page with one live ``widget``. Without ``theme`` the system's preference decides."""
    attribute = f' data-theme="{theme}"' if theme else ""
    code = {"esm": str(widget._esm), "model": bundled(_PAGE_MODEL)}
    data = json.dumps({**code, "state": state_of(widget)}).replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en"{attribute}><head><meta charset="utf-8"><title>Widget</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<style>{_HOST_STYLE}
html{{background:#fff}} html[data-theme=dark]{{background:#121212}}
body{{margin:0;padding:12px}} main{{max-width:760px;margin:auto}}
{widget._css}</style></head>
<body><main><h1 style="display:none">Widget</h1><div id="widget"></div></main>
<script id="data" type="application/json">{data}</script>
<script type="module">
const {{ esm, model, state }} = JSON.parse(document.getElementById("data").textContent);
const load = (text) => import(URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }})));
const {{ PageModel }} = (await load(model)).default;
const {{ default: widget }} = await load(esm);
{_WATCHED}
window.model = new Watched(state);
const start = performance.now();
window.stop = widget.render({{ model: window.model, el: document.getElementById("widget") }});
document.getElementById("widget").getBoundingClientRect();
window.firstDraw = performance.now() - start;
window.ready = true;
</script></body></html>"""


def overlapping_texts(page: Page) -> list[str]:
    """Pairs of texts of a widget's pictures that stand over each other, slanted ones aside.

    A browser's box of a text is as high as a line; its letters are at most as high as its font.
    """
    pairs: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("#widget svg")].flatMap((picture) => {
             const level = [...picture.querySelectorAll("text")].filter((t) => t.textContent
               && !/rotate/.test(t.getAttribute("transform") ?? ""));
             const boxes = level.map((t) => {
               const { left, right, top, bottom } = t.getBoundingClientRect();
               const letters = parseFloat(getComputedStyle(t).fontSize);
               const air = Math.max(3, (bottom - top - letters) / 2);
               return [t.textContent, { left, right, top: top + air, bottom: bottom - air }];
             });
             return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
               .filter(([, q]) => p.left < q.right && q.left < p.right
                 && p.top < q.bottom && q.top < p.bottom)
               .map(([b]) => `${a} / ${b}`));
           })"""
    )
    return pairs
