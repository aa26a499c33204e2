"""Bugs in public samples as a table: where, what, what is said without a GPU, what a GPU did."""

import re
from dataclasses import dataclass
from html import escape

from sgemm_lab.external_cuda.public_bugs import PublicBug, PublicBugs
from sgemm_lab.external_cuda.public_bugs import public_bugs as known_bugs
from sgemm_lab.lab.verdicts import with_code

_HEADS = ("what is wrong", "without a GPU", "on the GPU")
_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True, repr=False)
class ShownBugs:
    """The bugs as a table, and folded below it the commands that find them."""

    known: PublicBugs

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{text}</th>' for text in _HEADS)
        rows = "".join(map(_row, self.known.bugs))
        commands = "\n".join(bug.command for bug in self.known.bugs)
        return (
            '<div class="lab-scroll"><table class="lab-table lab-verdicts lab-bugs"><thead><tr>'
            f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
            f"<details><summary>The commands that say so</summary><pre>{escape(commands)}</pre>"
            f'</details><p class="lab-provenance">{escape(self._note)}</p>'
        )

    def __repr__(self) -> str:
        texts = (
            "\n  ".join(
                [bug.address, f"{bug.wrong} {bug.fair}", bug.command, _said(bug), _ran(bug)]
            )
            for bug in self.known.bugs
        )
        return "\n\n".join([*texts, self._note])

    @property
    def _note(self) -> str:
        return (
            f"Run on an {self.known.gpu}. Each link leads to the newest commit of "
            f"{self.known.seen}, which still has the line."
        )


def _row(bug: PublicBug) -> str:
    place = (
        f'<a href="{escape(bug.address)}">{escape(bug.name)}, line {bug.line}</a><br>'
        f"{escape(bug.repository)} at <code>{bug.commit[:7]}</code>"
    )
    cells = (
        f"{place}<br>{with_code(f'{bug.wrong} {bug.fair}')}",
        escape(_said(bug)),
        with_code(_ran(bug)),
    )
    # A phone has no room for the heads; there each cell says its own.
    parts = (
        f'<td data-head="{head}">{cell}</td>' for head, cell in zip(_HEADS, cells, strict=True)
    )
    return f"<tr>{''.join(parts)}</tr>"


def _said(bug: PublicBug) -> str:
    """The finding without the file, which is told, and the advice that follows."""
    return _SENTENCE.split(bug.said.removeprefix(f"{bug.name}, "))[0]


def _ran(bug: PublicBug) -> str:
    return " ".join(map(str, bug.h200))


def public_bugs() -> ShownBugs:
    """Show the bugs that were found in public samples, and what an H200 made of them."""
    return ShownBugs(known_bugs())
