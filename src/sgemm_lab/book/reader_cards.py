"""The place where a reader runs the kernels in WGSL on their own GPU, in the page.

The start page has it for all of them, a chapter for a step::

    ```{reader-card}
    ```

    ```{reader-card} tiled
    ```

Without scripts it shows nothing. One script comes when the reader asks (``book.ts`` sees to that):
the programs, what runs and checks them, and the book's own numbers. It is a plain script, because a
page that is opened as a file may not load a module. Nothing is sent or kept.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sgemm_lab import bundles
from sgemm_lab.book.collecting import gathered
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import body_start
from sgemm_lab.lab import session
from sgemm_lab.lab.ladders import chapter_pages
from sgemm_lab.models.ladder import GPU, SIZE, ladder
from sgemm_lab.records.webgpu_cards import card_path, load_card
from sgemm_lab.wgsl.programs import all_programs, load_program, load_programs

KIND = "reader_cards"
"""What the pages with such a place are gathered under."""

SCRIPT = "reader-card.js"

_FIELD = re.compile(r"// \w+: ")


class ReaderCardDirective(SphinxDirective):
    """``{reader-card}``: the button that measures, and the place of its result.

    With the name of a program it measures that step alone.
    """

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the place's HTML."""
        return [nodes.raw("", place(*self.arguments), format="html", **{KIND: SCRIPT})]


def place(name: str = "") -> str:
    """Return the HTML of the place for one step, or for the whole ladder.

    It is hidden, because without a script it is dead.
    """
    what, time = f"up to {len(all_programs())} programs", "about half a minute, two on a slow GPU"
    if name:
        program = load_program(name)
        if program.parent is None:
            raise LabError(f"'{name}' is the first step in WGSL: nothing to compare it with.")
        before = load_program(program.parent.partition(":")[0])
        what = f"“{escape(before.title)}” and “{escape(program.title)}” in WGSL"
        time = "some seconds"
    return (
        f'<section class="lab-card" data-lab="reader-card" data-program="{escape(name)}" '
        f'aria-label="Your GPU" hidden><p>This runs {what} on this device, each checked first. '
        f"It takes {time}, and the screen may stutter. Nothing is sent.</p>"
        f'<p><button type="button" data-lab="measure">Measure {"this step" if name else "my GPU"}'
        '</button></p><div data-lab="told" role="status"></div></section>'
    )


def script() -> str:
    """Return the script that a page loads when its reader asks."""
    book = json.dumps(book_card(), ensure_ascii=False)
    return f"{bundles.text('pages/reader-card.js')}labCard.setUp({book});\n"


def without_prose(source: str) -> str:
    """Return a program without what only its readers need.

    The fields of its head stay, and the words of its constants, by which they are known.
    """
    head = body_start(source)
    shown = []
    for index, line in enumerate(source.splitlines()):
        is_read = _FIELD.match(line) if index < head else line.startswith("const ")
        text = line if is_read else line.partition("//")[0].rstrip()
        if text:
            shown.append(text)
    return "\n".join(shown) + "\n"


def book_card() -> dict[str, Any]:
    """Return the programs, and what the book's GPU measured, as ``reader_card.ts`` takes them."""
    pages = dict(chapter_pages())
    steps: list[dict[str, Any]] = [
        {
            "name": one.name,
            "title": ", ".join([one.title, *filter(None, one.name.partition(":")[2].split(","))]),
            "parent": one.base_name if ":" in one.name else one.parent,
            "href": pages.get(one.chapter, ("", ""))[0],
            "fingerprint": load_program(one.base_name).fingerprint,
        }
        for one in all_programs()
    ]
    climbed = {
        step.kernel.name: step.score.gflops
        for step in ladder(session.book_records())
        if step.score and step.record and step.record.gpu.name == GPU and not step.at_smaller_size
    }
    card = load_card(card_path(data_folder("records"), GPU))
    measured = {one["name"]: card.gflops(one["name"], one["fingerprint"]) for one in steps if card}
    return {
        "name": GPU,
        "cuda": {"size": SIZE, "gflops": _known(climbed, steps)},
        "wgsl": card and {"size": card.size, "gflops": _known(measured, steps)},
        "steps": steps,
        "programs": [
            {"name": one.name, "source": without_prose(one.source)} for one in load_programs()
        ],
    }


def _known(speeds: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, float]:
    """Return the speeds of the steps, with the digits that a script needs."""
    known = {one["name"]: speeds.get(one["name"]) for one in steps}
    return {name: float(f"{speed:.6g}") for name, speed in known.items() if speed}


def write_scripts(app: Sphinx) -> None:
    """Write the script to the built site, if a page has the place."""
    if gathered(app.env, KIND):
        (Path(app.outdir) / "_static" / SCRIPT).write_text(script(), encoding="utf-8")
