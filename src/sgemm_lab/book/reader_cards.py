"""The place where a reader measures the card in front of them: the ladder in WGSL, in the page.

The start page has it, and chapters have it for a step::

    ```{reader-card}
    ```

    ```{reader-card} tiled
    ```

Without scripts it shows nothing. One script comes when the reader asks (``book.ts`` sees to that):
the programs, what runs and checks them, and the book's own numbers to stand beside. It is a plain
script, because a page that is opened as a file may not load a module. Nothing is ever sent. Once a
card is kept, a lighter script shows it in the closing boxes of chapters.
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
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import body_start
from sgemm_lab.lab import session
from sgemm_lab.lab.card import Card
from sgemm_lab.lab.ladders import chapter_pages
from sgemm_lab.models.ladder import GPU, SIZE, ladder
from sgemm_lab.records.webgpu_cards import MeasuredCard, card_path, load_card
from sgemm_lab.text import number, size_text
from sgemm_lab.wgsl.programs import load_program, load_programs, roof_sources

KIND = "reader_cards"
"""What the pages with such a place are gathered under."""

SCRIPT = "reader-card.js"
CHAPTER_SCRIPT = "card-in-chapter.js"
"""Shows a saved card in a chapter."""

_FIELD = re.compile(r"// \w+: ")


class ReaderCardDirective(SphinxDirective):
    """``{reader-card}``: the button that measures, and the place of its result.

    With the name of a program it measures that step alone.
    """

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the place's HTML.

        Raises:
            LabError: WGSL has no program of the name, or no step before it.
        """
        html = step_place(self.arguments[0]) if self.arguments else place()
        return [nodes.raw("", html, format="html", **{KIND: SCRIPT})]


def place() -> str:
    """Return the HTML of the place. It is hidden, because without a script it is dead."""
    steps = _steps()
    wgsl = book_card()["wgsl"]
    speeds = [
        wgsl["gflops"][one["name"]]
        for one in steps
        if wgsl and one["arithmetic"] == "fp32" and one["name"] in wgsl["gflops"]
    ]
    example = (
        f" On the {GPU} the same programs climb from {number(min(speeds))} to "
        f"{number(max(speeds))} GFLOP/s at {size_text((wgsl['size'],) * 3)}."
        if speeds
        else ""
    )
    return (
        '<section class="lab-card" data-lab="reader-card" aria-label="Your card" hidden>'
        f"<p>This runs up to {len(steps)} programs on this device, each checked first, and "
        "measures how fast the card copies and multiplies. It takes about half a minute, up to two "
        "on a slow card, and the screen may stutter. The result stays in this browser; nothing is "
        f"sent. From then on the closing boxes of the chapters show your card.{example}"
        '</p><p class="lab-card-buttons"><button type="button" class="lab-run" data-lab="measure">'
        'Measure my card</button></p><div data-lab="told" role="status"></div>'
        '<div data-lab="result"></div></section>'
    )


def step_place(name: str) -> str:
    """Return the HTML of the place that measures one step of a chapter.

    Raises:
        LabError: WGSL has no program of the name, or no step before it.
    """
    program = load_program(name)
    if program.parent is None:
        raise LabError(f"'{name}' is the first step in WGSL: there is none before it to compare.")
    before = load_program(program.parent.partition(":")[0])
    return (
        f'<section class="lab-card" data-lab="reader-card" data-program="{escape(name)}" '
        'aria-label="This step on your card" hidden>'
        f"<p>Does this step help on your card? This runs “{escape(before.title)}” and "
        f"“{escape(program.title)}” in WGSL on this device, each checked first. It takes some "
        "seconds. The result is neither kept nor sent.</p>"
        '<p class="lab-card-buttons"><button type="button" class="lab-run" data-lab="measure">'
        'Measure this step</button></p><div data-lab="told" role="status"></div></section>'
    )


def script() -> str:
    """Return the script that a page loads when its reader asks."""
    programs = [
        {"name": one.name, "source": without_prose(one.source), "fingerprint": one.fingerprint}
        for one in load_programs()
    ]
    mine = json.dumps({"programs": programs, "roofs": roof_sources()}, ensure_ascii=False)
    theirs = json.dumps(book_card(), ensure_ascii=False)
    return f"{bundles.text('pages/reader-card.js')}labCard.setUp({mine}, {theirs});\n"


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


def chapter_script() -> str:
    """Return the script that a chapter loads where the browser keeps a measured card."""
    theirs = json.dumps(book_card(), ensure_ascii=False)
    return f"{bundles.text('pages/card-in-chapter.js')}labCard.showInChapter({theirs});\n"


def book_card() -> dict[str, Any]:
    """Return what the book's GPU measured, in CUDA and in WGSL, in the form of ``compared.ts``."""
    records = session.book_records()
    climbed = {
        step.kernel.name: step.score
        for step in ladder(records)
        if step.score and step.record and step.record.gpu.name == GPU and not step.at_smaller_size
    }
    alike = [one for name, one in climbed.items() if load_kernel(name).arithmetic == "fp32"]
    best = max(alike, key=lambda score: score.gflops)
    wgsl = load_card(card_path(data_folder("records"), GPU))
    return {
        "name": GPU,
        "cuda": {
            "size": SIZE,
            "fma_gflops": Card(next(one for one in records if one.gpu.name == GPU)).fma,
            "gflops": {
                name: _short(climbed[name].gflops)
                for name in (one["name"] for one in _steps())
                if name in climbed
            },
        },
        "wgsl": wgsl and _in_wgsl(wgsl),
        "steps": _steps(),
        "best": {"title": load_kernel(best.kernel).title, "gflops": best.gflops},
    }


def _short(value: float) -> float:
    """Return a number with the digits that a script needs."""
    return float(f"{value:.6g}")


def _in_wgsl(card: MeasuredCard) -> dict[str, Any] | None:
    """Return what is known of the programs that the book has now; None where it is nothing."""
    speeds = {one["name"]: card.gflops(one["name"], one["fingerprint"]) for one in _steps()}
    known = {name: _short(gflops) for name, gflops in speeds.items() if gflops}
    if not known:
        return None
    return {"size": card.size, "fma_gflops": card.multiply_add_gflops, "gflops": known}


def _steps() -> list[dict[str, Any]]:
    """Return the steps in WGSL and their variants, in order, as the book tells of them."""
    pages = dict(chapter_pages())
    steps: list[dict[str, Any]] = []
    for program in load_programs():
        for variant in ("", *program.variants):
            steps.append(
                {
                    "name": f"{program.name}:{variant}" if variant else program.name,
                    "title": ", ".join(filter(None, [program.title, *variant.split(",")])),
                    "parent": program.name if variant else program.parent,
                    "href": pages.get(program.chapter, ("", ""))[0],
                    "arithmetic": program.arithmetic,
                    "fingerprint": program.fingerprint,
                }
            )
    return steps


def write_scripts(app: Sphinx) -> None:
    """Write the scripts to the built site, if a page has the place."""
    if gathered(app.env, KIND):
        static = Path(app.outdir) / "_static"
        (static / SCRIPT).write_text(script(), encoding="utf-8")
        (static / CHAPTER_SCRIPT).write_text(chapter_script(), encoding="utf-8")
