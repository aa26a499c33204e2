"""What all widgets share: how they are put together, and how they look without scripts.

A widget is one class: its state in Python, its drawing in the ``.ts`` of the same name beside it,
and in the ``.css`` where it has looks of its own. In JupyterLab and Colab a kernel is behind it.
On a page of the book there is none: a small script gives the same code a plain model object.
So nothing that the reader does may need Python.
"""

import json
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from sgemm_lab import bundles
from sgemm_lab.errors import LabError
from sgemm_lab.text import breakable, breakable_head, columns_on_a_phone

WIDGET_MIME = "application/vnd.sgemm-lab.widget+json"

_MISSING = (
    "The widgets are not built. Run 'make book', or 'python -m sgemm_lab.bundles', and restart."
)
_NOT_BUILT = (
    f"export default {{ render({{ el }}) {{ el.textContent = {json.dumps(_MISSING)}; }} }};"
)


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; the first cell of each row is its head. All texts are escaped."""
    head = "".join(f'<th scope="col">{breakable_head(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{breakable(row[0])}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    beside = columns_on_a_phone(zip(heads, *rows, strict=True))
    stacked = f' lab-stacked" style="--columns: {beside}' if beside else ""
    return (
        f'<table class="lab-table{stacked}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


class LabWidget(anywidget.AnyWidget):
    """A widget whose data a reader without the picture finds in a table.

    A subclass may define :meth:`table`. Its code is the bundle of the
    module of the same name beside its Python file, unless it sets ``_esm`` and ``_css``. With
    ``ANYWIDGET_HMR=1`` an open widget follows its bundle.

    The types of traits say what a setting may be; another value raises ``LabError``. Data, such as
    the rows of a table, come from :mod:`sgemm_lab.lab` and are typed, not checked.
    """

    ROOM: ClassVar[str] = ""
    """How tall the live view is on a phone, as CSS: for a widget that stands on the first screen of
    a page, where what is below would jump when it comes."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # A class of a notebook is in no file, and brings its own code.
        defined_in = Path(getattr(sys.modules[cls.__module__], "__file__", None) or "notebook.py")
        if "_esm" not in vars(cls) and defined_in.parent == Path(__file__).parent:
            script = bundles.FOLDER / "widgets" / f"{defined_in.stem}.js"
            built = script.exists()
            cls._esm = script if built else _NOT_BUILT
            cls._css = script.with_suffix(".css") if built else ""
        super().__init_subclass__(**kwargs)

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except traitlets.TraitError as fault:
            trait = self.traits().get(name)
            least, most = (getattr(trait, side, None) for side in ("min", "max"))
            if isinstance(value, int) and least is not None and most is not None:
                raise LabError(f"{name} is {value:,}. Give {least:,} to {most:,}.") from None
            raise LabError(f"{fault}.".replace("..", ".")) from None

    def table(self) -> str:
        """Return the data behind the picture as an HTML table, or "" if it shows them as text."""
        return ""

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the live view, and the table for a page without scripts."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        data["text/plain"] = f"{type(self).__name__}: an interactive picture"
        data[WIDGET_MIME] = {
            "model_id": self.model_id,
            "table": self.table(),
            "room": self.ROOM,
        }
        return data, metadata
