"""What all widgets share: how they are put together, and how they look without scripts.

A widget is one class: its state in Python, its drawing in the ``.js`` and ``.css`` beside it. In
JupyterLab and Colab a kernel stands behind it. On a page of the book there is none: a small script
gives the same JavaScript a plain model object. So nothing that the reader does may need Python.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import anywidget

from sgemm_lab.files import PACKAGE
from sgemm_lab.style import theme_css

WIDGET_MIME = "application/vnd.sgemm-lab.widget+json"


def module(*names: str) -> str:
    """Join JavaScript files of this folder into one ES module.

    The rule: each file is a fragment without ``import`` or ``export``, all share one scope, later
    ones use what earlier ones define, and the joined text ends by exporting ``render``, which the
    last one must define. One text is needed because pages import it from a Blob URL, where a
    relative import leads nowhere.
    """
    parts = [f"// {name}\n{_read(name)}" for name in names]
    return "\n".join([*parts, "export default { render };\n"])


def stylesheet(*names: str) -> str:
    """Join the book's colours and CSS files of this folder into one style sheet.

    The rule: a file's selectors name one class of the widget's root more than those of the file
    that it builds on. A page holds the sheets of several widgets, the shared files in each of them,
    so the order of two equal rules is chance.
    """
    return theme_css(".sgemm-lab") + "\n".join(_read(name) for name in names)


def html_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; the first cell of each row is its head. All texts are escaped."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<table class="lab-table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


class LabWidget(anywidget.AnyWidget):
    """A widget with a still picture, a sentence and a table to stand in for it.

    A subclass sets ``_esm`` (:func:`module`) and ``_css`` (:func:`stylesheet`) and defines
    :attr:`alt`, :meth:`still` and :meth:`table`.
    """

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
        }
        return data, metadata


def _read(name: str) -> str:
    folder = PACKAGE if "/" in name else PACKAGE / "widgets"
    return (folder / name).read_text(encoding="utf-8")
