"""The place where a reader measures the card in front of them: the ladder in WGSL, in the page.

The start page has it::

    ```{reader-card}
    ```

Without scripts it shows nothing. One script comes when the reader asks (``book.js`` sees to that):
the programs, what runs and checks them, and the book's own numbers to stand beside. It is a plain
script, because a page that is opened as a file may not load a module. Nothing is ever sent. Once a
card is kept, a lighter script tells in the closing boxes of the chapters how it took each step.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.collecting import gathered
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.card import Card
from sgemm_lab.lab.ladders import chapter_pages
from sgemm_lab.models.ladder import GPU, SIZE, ladder
from sgemm_lab.records.cards import MeasuredCard, card_path, load_card
from sgemm_lab.text import number, size_text
from sgemm_lab.wgsl.programs import load_programs, roof_sources
from sgemm_lab.widgets import bundle

KIND = "reader_cards"
"""What the pages with such a place are gathered under."""

SCRIPT = "reader-card.js"
STEPS_SCRIPT = "card-steps.js"
"""What tells in closing boxes how a kept card took the step."""

_SOURCES = Path(__file__).parent / "reader_card"


class ReaderCardDirective(SphinxDirective):
    """``{reader-card}``: the button that measures, and the place of its result."""

    def run(self) -> list[nodes.Node]:
        """Write the place's HTML."""
        return [nodes.raw("", place(), format="html", **{KIND: SCRIPT})]


def place() -> str:
    """Return the HTML of the place. It is hidden, because without a script it is dead."""
    count = len(_steps())
    wgsl = book_card()["wgsl"]
    example = (
        f" On the {GPU} the same programs climb from {number(min(wgsl['gflops'].values()))} to "
        f"{number(max(wgsl['gflops'].values()))} GFLOP/s at {size_text((wgsl['size'],) * 3)}."
        if wgsl
        else ""
    )
    return (
        '<section class="lab-card" data-lab="reader-card" aria-label="Your card" hidden>'
        f"<p>This runs {count} programs on this device, each checked first, and measures how fast "
        "the card copies and multiplies. It takes about half a minute, up to two on a slow card, "
        f"and the screen may stutter. The result stays in this browser; nothing is sent. From then "
        f"on the closing boxes of the chapters tell what each step brought on your card.{example}"
        '</p><p class="lab-card-buttons"><button type="button" class="lab-run" data-lab="measure">'
        'Measure my card</button><button type="button" data-lab="open">Open a saved card</button>'
        '</p><div data-lab="told" role="status"></div><div data-lab="result"></div></section>'
    )


def script() -> str:
    """Return the script that a page loads when its reader asks."""
    programs = [
        {"name": one.name, "source": one.source, "fingerprint": one.fingerprint}
        for one in load_programs()
    ]
    mine = json.dumps({"programs": programs, "roofs": roof_sources()}, ensure_ascii=False)
    theirs = json.dumps(book_card(), ensure_ascii=False)
    return bundle.plain_script(_SOURCES / "reader_card.js", f"setUp({mine}, {theirs})")


def steps_script() -> str:
    """Return the script that a chapter loads where the browser keeps a measured card."""
    theirs = json.dumps(book_card(), ensure_ascii=False)
    return bundle.plain_script(_SOURCES / "card_steps.js", f"tellSteps({theirs})")


def book_card() -> dict[str, Any]:
    """Return what the book's GPU measured, in CUDA and in WGSL, in the form of ``compared.js``."""
    records = session.book_records()
    scores = {
        step.kernel.name: step.score
        for step in ladder(records)
        if step.score and not step.at_smaller_size
    }
    best = max(scores.values(), key=lambda score: score.gflops)
    wgsl = load_card(card_path(data_folder("records"), GPU))
    return {
        "name": GPU,
        "cuda": {
            "size": SIZE,
            "fma_gflops": Card(next(one for one in records if one.gpu.name == GPU)).fma,
            "gflops": {name: score.gflops for name, score in scores.items()},
        },
        "wgsl": wgsl and _in_wgsl(wgsl),
        "steps": _steps(),
        "best": {"title": load_kernel(best.kernel).title, "gflops": best.gflops},
    }


def _in_wgsl(card: MeasuredCard) -> dict[str, Any] | None:
    """Return what is known of the programs that the book has now; None where it is nothing."""
    speeds = {one["name"]: card.gflops(one["name"], one["fingerprint"]) for one in _steps()}
    known = {name: gflops for name, gflops in speeds.items() if gflops}
    if not known:
        return None
    return {"size": card.size, "fma_gflops": card.multiply_add_gflops, "gflops": known}


def _steps() -> list[dict[str, Any]]:
    """Return the rungs in WGSL and their variants, in order, as the book tells of them."""
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


def write_scripts(app: Sphinx, error: Exception | None) -> None:
    """Put the scripts beside the built pages, where one of them has the place."""
    if error is None and app.builder.format == "html" and gathered(app.env, KIND):
        static = Path(app.outdir) / "_static"
        (static / SCRIPT).write_text(script(), encoding="utf-8")
        (static / STEPS_SCRIPT).write_text(steps_script(), encoding="utf-8")
