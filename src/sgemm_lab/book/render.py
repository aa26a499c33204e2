"""How a cell's output becomes part of a page: inline pictures, widgets without a kernel."""

import json
import re
from typing import Any

from docutils import nodes
from myst_nb.core.render import (  # type: ignore[import-untyped]
    WIDGET_STATE_MIMETYPE,
    MimeData,
    NbElementRenderer,
)

from sgemm_lab.book import svg
from sgemm_lab.book.stills import PAGE_STATE_MIME, PLACE
from sgemm_lab.errors import LabError
from sgemm_lab.lab.verdicts import VERDICTS_MIME
from sgemm_lab.style import CSS_COLOURS, NARROW
from sgemm_lab.widgets.base import WIDGET_MIME

_OWN_WIDGET = re.compile(r"sgemm_lab\.widgets\.(?P<name>\w+)\.")
_WIDGET_HTML = f"""\
<div class="lab-widget" data-model-id="{{model_id}}"{{room}}>
<div class="lab-widget-live"></div>
<div class="lab-widget-still">{PLACE}</div>
{{table}}</div>
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
    """Return saved widgets in short, by id: the name of each one's script, and its own state."""
    models: dict[str, Any] = {}
    for model_id, model in saved.items():
        state = model["state"]
        own = _OWN_WIDGET.match(state["_anywidget_id"])
        if not own:
            raise LabError(f"{state['_anywidget_id']} is no widget of the book.")
        models[model_id] = {
            "kind": own["name"],
            "state": {name: value for name, value in state.items() if name[0] != "_"},
            "buffers": model.get("buffers", []),
        }
    return models


def page_scripts(page: dict[str, Any]) -> list[str]:
    """Return the scripts that a page with this state loads; the one that all share comes first."""
    kinds = sorted({model["kind"] for model in page.values()})
    return ["widgets.js", *(f"widgets-{kind}.js" for kind in kinds)]
