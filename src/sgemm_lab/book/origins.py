"""Sources of a page's numbers, collected at its end instead of under every table."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from sgemm_lab.book import exercises

_NOTE = re.compile(r'<p class="lab-provenance"([^>]*)>(.*?)</p>', re.DOTALL)
_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")
_RECORD_AND_DATE = re.compile(r"(Recorded on .+), (\d{4}-\d\d-\d\d)\.")
_ORIGIN = "Recorded on "
"""How sentences begin that name a record."""


def gather(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Take the origins out of the notes of a page's outputs, and write them once at its end."""
    found: dict[str, None] = {}
    for raw in _outputs(doctree):
        found |= dict.fromkeys(_taken_from(raw))
    whole = next(doctree.findall(nodes.section), None)
    if found and whole is not None:
        origin = " ".join(in_one(fullest(list(found))))
        line = nodes.raw("", f'<p class="lab-provenance lab-origin">{origin}</p>')
        line["format"] = "html"
        whole += line


def fullest(origins: list[str]) -> list[str]:
    """Return origins without those that only begin another, as a date does a date and a driver."""
    return [
        one
        for one in origins
        if not any(other != one and other.startswith(one.rstrip(".")) for other in origins)
    ]


def in_one(origins: list[str]) -> list[str]:
    """Return origins with those that differ in their date alone as one sentence."""
    dates: dict[str, list[str]] = {}
    for one in origins:
        found = _RECORD_AND_DATE.fullmatch(one)
        dates.setdefault(found[1] if found else one, []).extend([found[2]] if found else [])
    return [f"{one}, {_listed(sorted(days))}." if days else one for one, days in dates.items()]


def _listed(days: list[str]) -> str:
    *first, last = days
    return f"{', '.join(first)} and {last}" if first else last


def split_note(note: str) -> tuple[list[str], list[str]]:
    """Return the sentences of a note that a page says once, and the others."""
    sentences = _BETWEEN_SENTENCES.split(note)
    origins = [sentence for sentence in sentences if sentence.startswith(_ORIGIN)]
    return origins, [sentence for sentence in sentences if sentence not in origins]


def _taken_from(raw: nodes.raw) -> list[str]:
    """Take the origins out of an output, and return them."""
    taken: list[str] = []

    def without(note: re.Match[str]) -> str:
        origins, others = split_note(note[2])
        taken.extend(origins)
        return f'<p class="lab-provenance"{note[1]}>{" ".join(others)}</p>' if others else ""

    text = _NOTE.sub(without, raw.astext())
    if taken:
        raw[:] = [nodes.Text(text)]
    return taken


def _outputs(node: nodes.Node) -> Iterator[nodes.raw]:
    """Yield the HTML outputs of a page, less those of exercises and predictions."""
    if isinstance(node, nodes.raw):
        yield node
    elif not isinstance(node, (exercises.Box, exercises.SolutionBox)):
        for child in node.children:
            yield from _outputs(child)
