"""What a verb hands to a notebook: HTML for a page, text for everything else."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sgemm_lab import style
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.text import (
    breakable,
    breakable_head,
    columns_on_a_phone,
    number,
    plain_table,
    with_spaced_percents,
)


@dataclass(frozen=True)
class Output:
    """HTML with a plain-text twin. Notebooks show the first, terminals the second."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Unavailable(Output):
    """What a verb returns where a tool is missing, or a measurement: the sentence that says so.

    Whatever else is asked of it raises that sentence, not Python's words about attributes.
    """

    def __getattr__(self, name: str) -> Any:
        """Raise the sentence.

        Raises:
            LabError: always, but for the names by which Python asks what an object can do.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise LabError(self.text)


def unavailable(missing: MissingToolError) -> Unavailable:
    """Return the sentence of a missing tool as an output."""
    return Unavailable(sentence(str(missing)).html, str(missing))


def of_gpus(parts: Iterable[tuple[str, str]]) -> str:
    """Return the HTML of one thing on several GPUs, each with the GPU's name: the first is shown.

    On a page the reader chooses another GPU (``book/page_scripts/card_choice.ts``). What is of one
    GPU alone stays, and the page names that GPU where another is chosen.
    """
    found = list(parts)
    if len(found) == 1:
        ((gpu, html),) = found
        return f'<div data-gpu-alone="{escape(gpu)}">{html}</div>'
    return "".join(
        f'<div data-gpu="{escape(gpu)}"{" hidden" if number else ""}>{html}</div>'
        for number, (gpu, html) in enumerate(found)
    )


@dataclass(frozen=True)
class Prose:
    """A sentence or a paragraph of Markdown whose numbers were just computed."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


Draw = Callable[[Axes, bool], None]
"""Draws a chart on axes; the second argument says whether it is for a phone."""


class Picture:
    """A chart of Matplotlib with its conclusion in words, drawn for a column and for a phone."""

    def __init__(
        self, draw: Draw, title: str, conclusion: str, size: tuple[float, float], on_phone: float
    ) -> None:
        """Draw it. ``size`` is width and height in inches, ``on_phone`` the height on a phone."""
        self._conclusion = with_spaced_percents(conclusion)
        sizes = {False: size, True: (style.PHONE_WIDTH, on_phone)}
        self._svg, self._narrow = (
            style.svg(_drawn(draw, phone, *inches), title, self._conclusion)
            for phone, inches in sizes.items()
        )

    def _repr_mimebundle_(self, **_: object) -> Any:
        # The book takes the SVG and sets the conclusion below it; a notebook takes the HTML. The
        # second part is the output's metadata: a page shows that picture on a phone.
        caption = f"<figcaption>{escape(self._conclusion)}</figcaption>"
        forms = {
            "image/svg+xml": self._svg,
            "text/html": f"<figure>{self._svg}{caption}</figure>",
            "text/plain": self._conclusion,
        }
        return forms, {style.NARROW: self._narrow}

    def __repr__(self) -> str:
        return self._conclusion


def _drawn(draw: Draw, phone: bool, width: float, height: float) -> Figure:
    figure = style.figure(width, height)
    with style.book_style():
        draw(figure.subplots(), phone)
    return figure


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    note: str = "",
    numbers: int = 1,
    code: int | None = None,
    after: tuple[int, str] | None = None,
) -> Output:
    """Return a table. Columns from index ``numbers`` on are numbers and stand to the right.

    ``note`` is a line below it that says where the numbers come from. ``code`` is the index of a
    column that holds code. Rows from index ``after[0]`` on wait for the prediction ``after[1]``.
    """
    rows = [list(map(with_spaced_percents, row)) for row in rows]

    def cell(tag: str, index: int, text: str, scope: str = "") -> str:
        # "8.0e-07" would break after its sign.
        unbroken = "" if " " in text.removesuffix(" %") or text.count("×") == 2 else " unbroken"
        kind = f' class="number{unbroken}"' if index >= numbers else ""
        shown = breakable_head(text) if tag == "th" else breakable(text)
        if index == code and tag == "td":
            shown = f"<code>{shown}</code>"
        return f"<{tag}{scope}{kind}>{shown}</{tag}>"

    # A head without a text is no head to a screen reader.
    head = "".join(
        cell("th", i, text, ' scope="col"') if text else "<td></td>" for i, text in enumerate(heads)
    )
    first, waits = after or (len(rows), "")
    body = "".join(
        (f'<tr class="after-{waits}">' if number >= first else "<tr>")
        + "".join(cell("td", i, text) for i, text in enumerate(row))
        + "</tr>"
        for number, row in enumerate(rows)
    )
    beside = columns_on_a_phone(zip(heads, *rows, strict=True)) if numbers < len(heads) else 0
    stacked = f' lab-stacked" style="--columns: {beside}' if beside else ""
    html = (
        f'<div class="lab-scroll"><table class="lab-table{stacked}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    if note:
        html += f'<p class="lab-provenance">{escape(note)}</p>'
    text = plain_table(heads, rows, numbers=numbers)
    return Output(html, "\n".join([text, *([note] if note else [])]))


def sentence(text: str) -> Output:
    """Return one sentence as an output."""
    return Output(f'<p class="lab-provenance">{escape(text)}</p>', text)


def say(text: str) -> Prose:
    """Return text in Markdown, for a sentence that a cell chooses: ``say(f"{x:.0f} GB/s")``.

    Values in a fixed sentence need no cell: the page writes ``{value}`x:.0f` GB/s``.
    """
    return Prose(with_spaced_percents(text.strip()))


def code(text: str) -> str:
    """Return text as code in a sentence: ``{value}`lab.code(name)` ``."""
    return f"`{text}`"


def written(value: object) -> str:
    """Write a value as the book does: a float to three digits (``number``), all else as it is."""
    return number(value) if isinstance(value, float) else str(value)
