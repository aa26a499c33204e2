"""How a cell's output becomes part of a page: inline pictures, widgets without a kernel."""

import json
from typing import Any

from docutils import nodes
from myst_nb.core.render import (  # type: ignore[import-untyped]
    WIDGET_STATE_MIMETYPE,
    MimeData,
    NbElementRenderer,
)

from sgemm_lab.book import svg
from sgemm_lab.lab.verdicts import VERDICTS_MIME
from sgemm_lab.style import CSS_COLOURS, NARROW
from sgemm_lab.widgets import bundle
from sgemm_lab.widgets.base import WIDGET_MIME

PAGE_STATE_MIME = "application/vnd.sgemm-lab.page-widgets+json"

_WIDGET_HTML = """\
<div class="lab-widget" data-model-id="{model_id}"{room}>
<div class="lab-widget-live"></div>
<div class="lab-widget-still">{still}</div>
{table}</div>
"""
_TABLE_HTML = """\
<details class="lab-widget-table"><summary>The same as a table</summary>
<div class="lab-scroll">{table}</div>
</details>
"""


class PageRenderer(NbElementRenderer):  # type: ignore[misc]
    """MyST-NB's renderer, for pages that ask nothing of a kernel or of the network."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._shown: list[str] = []

    def render_mime_type(self, data: MimeData) -> list[nodes.Element]:
        """Render one form of an output as a block."""
        if data.mime_type == WIDGET_MIME:
            return [self._widget(data)]
        if data.mime_type == "image/svg+xml":
            return [self._still_figure(data)]
        if data.mime_type == VERDICTS_MIME:
            # Not to be seen, only to be gathered: the table is in the HTML.
            return [nodes.comment("", "", verdicts=data.content)]
        return list(super().render_mime_type(data))

    def render_nb_finalise(self, metadata: dict[str, Any]) -> None:
        """Save the widgets of the page, the code of each kind of widget only once."""
        saved = metadata.get("widgets", {}).get(WIDGET_STATE_MIMETYPE, {}).get("state", {})
        if not self._shown:
            return
        page = page_state({model_id: saved[model_id] for model_id in self._shown})
        # "<" is escaped so that no text inside can end the script element.
        body = json.dumps(page, separators=(",", ":")).replace("<", "\\u003c")
        self.add_js_file("sgemm_lab_state", None, {"type": PAGE_STATE_MIME, "body": body})
        for number, script in enumerate(page_scripts(page)):
            self.add_js_file(f"sgemm_lab_widgets_{number}", script, {"defer": "defer"})

    def _widget(self, data: MimeData) -> nodes.raw:
        content = data.content
        self._shown.append(content["model_id"])
        table = content.get("table", "")
        html = _WIDGET_HTML.format(
            model_id=content["model_id"],
            still=self._picture(data, content["still"]),
            table=_TABLE_HTML.format(table=table) if table else "",
            room=f' style="--lab-room: {room}"' if (room := content.get("room")) else "",
        )
        return nodes.raw(text=html, format="html", classes=["output"])

    def _still_figure(self, data: MimeData) -> nodes.raw:
        if not svg.is_described(data.string):
            self.logger.warning(
                "This figure has no words for readers who cannot see it. "
                "Make it with sgemm_lab.style.svg(figure, title, description).",
                subtype="image",
                line=data.line,
            )
        caption = svg.description(data.string)
        pictures = self._picture(data, data.string)
        classes = "lab-figure"
        if narrow := data.output_metadata.get(NARROW):
            classes += " lab-two-widths"
            pictures += self._picture(data, narrow)
        html = (
            f'<figure class="lab-captioned"><div class="{classes}">{pictures}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )
        return nodes.raw(text=html, format="html", classes=["output"])

    def _picture(self, data: MimeData, picture: str) -> str:
        place = f"{data.cell_index}-{data.output_index}"
        return svg.for_page(picture, place=place, colours=CSS_COLOURS)


def page_state(saved: dict[str, Any]) -> dict[str, Any]:
    """Return saved widgets in short: each model's own state, and the parts of each kind's code.

    Parts of the book's own widgets are named only: pages share the files that hold them.
    """
    kinds: dict[str, dict[str, list[str]]] = {}
    parts: dict[str, str] = {}
    models: dict[str, dict[str, Any]] = {}
    shared = {part for file in bundle.library().values() for part in file.items()}
    for model_id, model in saved.items():
        state = model["state"]
        kind = state["_anywidget_id"]
        script = bundle.parts_of(state["_esm"], f"{kind}.js")
        sheet = bundle.parts_of(state.get("_css", ""), f"{kind}.css")
        kinds[kind] = {
            "script": [part.name for part in script],
            "sheet": [part.name for part in sheet],
        }
        parts.update(part for part in [*script, *sheet] if part not in shared)
        models[model_id] = {
            "kind": kind,
            "state": {name: value for name, value in state.items() if name[0] != "_"},
            "buffers": model.get("buffers", []),
        }
    return {"kinds": kinds, "parts": parts, "models": models}


def page_scripts(page: dict[str, Any]) -> list[str]:
    """Return the scripts that a page with this state loads; the one that draws comes last."""
    named = {
        part for kind in page["kinds"].values() for part in [*kind["script"], *kind["sheet"]]
    } - set(page["parts"])
    files = [file for file, parts in bundle.library().items() if named & set(parts)]
    return [*(file for file in files if file != bundle.PAGE_SCRIPT), bundle.PAGE_SCRIPT]
