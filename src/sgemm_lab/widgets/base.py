"""What all widgets share: how they are put together, and how they look without scripts.

A widget is one class: its state in Python, its drawing in the ``.js`` of the same name beside it,
and in the ``.css`` where it has looks of its own. In JupyterLab and Colab a kernel is behind it.
On a page of the book there is none: a small script gives the same JavaScript a plain model object.
So nothing that the reader does may need Python.
"""

import os
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import anywidget

from sgemm_lab.text import breakable, breakable_head, columns_on_a_phone
from sgemm_lab.widgets import bundle

WIDGET_MIME = "application/vnd.sgemm-lab.widget+json"


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
    """A widget with a still picture, a sentence and a table to stand in for it.

    A subclass defines :attr:`alt`, :meth:`still` and :meth:`table`. Its code is the module of the
    same name beside its Python file, joined by :mod:`sgemm_lab.widgets.bundle`, unless it sets
    ``_esm`` and ``_css`` itself. With ``ANYWIDGET_HMR=1`` the code follows the files while they are
    edited.
    """

    ROOM: ClassVar[str] = ""
    """How tall the live view is on a phone, as CSS: for a widget that stands on the first screen of
    a page, where what is below would jump when it comes."""

    _entry: ClassVar[Path | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # A class of a notebook is in no file, and brings its own code.
        defined_in = getattr(sys.modules[cls.__module__], "__file__", None) or "notebook.py"
        entry = Path(defined_in).with_suffix(".js")
        if "_esm" not in vars(cls) and entry.is_file():
            cls._entry = entry
            cls._esm, cls._css = bundle.script(entry), bundle.sheet(entry)
        super().__init_subclass__(**kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._entry and os.environ.get("ANYWIDGET_HMR") == "1":
            bundle.Follower(self._entry, self._follow).start()

    def _follow(self, script: str, sheet: str) -> None:
        self.set_trait("_esm", script)
        self.set_trait("_css", sheet)

    @property
    def alt(self) -> str:
        """The conclusion of the picture in one or two sentences."""
        raise NotImplementedError

    def still(self) -> str:
        """Return the picture at its present state as inline SVG, from :func:`style.svg`."""
        raise NotImplementedError

    def table(self) -> str:
        """Return the data behind the picture as an HTML table."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the live view, and beside it all that a page without scripts needs."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        data["text/plain"] = self.alt
        data[WIDGET_MIME] = {
            "model_id": self.model_id,
            "still": self.still(),
            "alt": self.alt,
            "table": self.table(),
            "room": self.ROOM,
        }
        return data, metadata
