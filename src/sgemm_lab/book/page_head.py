"""What a page says of itself: to search engines, in link previews and in links to it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from sgemm_lab.book import mathml, share_cards
from sgemm_lab.book.share_cards import FIELD

_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z“])")
_SHORTEST = 50
"""Characters: a shorter first sentence says too little alone, and takes the next one along."""


def description(doctree: nodes.document) -> str:
    """Return the beginning of a page's own text: a sentence, or two if the first is short.

    It is "" for a page without paragraphs.
    """
    sentences = (one for text in _paragraphs(doctree) for one in _SENTENCE_END.split(text))
    said = next(sentences, "")
    while said and len(said) < _SHORTEST and (more := next(sentences, "")):
        said = f"{said} {more}"
    return said.rstrip(":") + "." * said.endswith(":")


def add_head(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the template what to say of a page: what it changes, and how its text begins.

    The picture needs the site's address, and a browser that draws it.
    """
    title = app.config.html_title
    if doctree is None:
        context["description"] = f"Search all pages of “{title}”."
    else:
        change = app.env.metadata[page].get(FIELD)
        context["description"] = f"{change}. " * bool(change) + description(doctree) or title
    context["kind_of_page"] = "website" if page == app.config.root_doc else "article"
    if app.config.html_baseurl and share_cards.program() and doctree is not None:
        context["card"] = f"{app.config.html_baseurl}{share_cards.FOLDER}/{Path(page).name}.png"
        context["card_size"] = (share_cards.WIDTH, share_cards.HEIGHT)


def add_changes(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Give the links to the neighbouring pages the sentences of those pages."""
    _, before, after = getattr(app.builder, "relations", {}).get(page, (None, None, None))
    for place, neighbour in (("prev", before), ("next", after)):
        if neighbour and context.get(place):
            change = app.env.metadata[neighbour].get(FIELD, "")
            context[place] = {**context[place], FIELD: change}


def _paragraphs(doctree: nodes.document) -> Iterator[str]:
    """Yield the texts of a page's paragraphs, those of boxes and captions left out."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section | nodes.document):
            yield " ".join("".join(map(_plain, paragraph.children)).split())


def _plain(node: nodes.Node) -> str:
    if isinstance(node, nodes.math):
        return mathml.plain(node.astext())
    return node.astext() if not node.children else "".join(map(_plain, node.children))
