"""What all pages together hold, gathered while they are read, for pages made of all of it."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector

KINDS = (
    *("verdicts", "symbols", "words", "ledger"),
    *("exercises", "panels", "workbenches", "reader_cards"),
)
"""Attributes of a page's nodes. Whatever node has one of them adds its value to the page's."""

_ATTRIBUTE = "sgemm_lab_gathered"


def gathered(env: BuildEnvironment, kind: str) -> dict[str, list[Any]]:
    """Return the values of one of :data:`KINDS`, page by page, in the order of the pages' names."""
    pages = _pages(env)
    return {page: pages[page][kind] for page in sorted(pages) if kind in pages[page]}


class Collector(EnvironmentCollector):
    """Keeps what the pages hold in Sphinx's environment."""

    def clear_doc(self, _app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a page that is read again, or gone."""
        _pages(env).pop(docname, None)

    def merge_other(
        self, _app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment
    ) -> None:
        """Take over the pages that another process has read."""
        theirs = _pages(other)
        _pages(env).update({page: theirs[page] for page in docnames if page in theirs})

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Gather what a page holds."""
        found: dict[str, list[Any]] = {}
        for node in doctree.findall(nodes.Element):
            for kind in KINDS:
                if kind in node:
                    found.setdefault(kind, []).append(node[kind])
        if found:
            _pages(app.env)[app.env.docname] = found


def _pages(env: BuildEnvironment) -> dict[str, dict[str, list[Any]]]:
    pages: dict[str, dict[str, list[Any]]] = env.__dict__.setdefault(_ATTRIBUTE, {})
    return pages
