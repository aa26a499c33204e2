"""The ledger: every claim that the chapters put to the test, on one page."""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.collecting import gathered
from sgemm_lab.lab.verdicts import HEAD, Claim, row


class LedgerPlace(nodes.General, nodes.Element):
    """Where the ledger goes once all pages are read."""


class LedgerDirective(SphinxDirective):
    """``{ledger}``: the claims of all pages."""

    def run(self) -> list[nodes.Node]:
        """Leave a place to be filled."""
        return [LedgerPlace(ledger=True)]


def pages_with_ledger(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that are written again in every build, because any chapter may change."""
    return list(gathered(env, "ledger"))


def fill(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the table where the directive stood."""
    for place in list(doctree.findall(LedgerPlace)):
        place.replace_self(nodes.raw("", _html(app, page), format="html"))


def _html(app: Sphinx, page: str) -> str:
    chapters = {
        chapter: [Claim(**fields) for table in tables for fields in table]
        for chapter, tables in gathered(app.env, "verdicts").items()
    }
    bodies = "".join(_chapter(app, page, chapter, claims) for chapter, claims in chapters.items())
    return (
        '<div class="lab-scroll"><table class="lab-table lab-verdicts">'
        f"{HEAD}{bodies}</table></div>"
    )


def _chapter(app: Sphinx, page: str, chapter: str, claims: list[Claim]) -> str:
    address = escape(app.builder.get_relative_uri(page, chapter))
    title = escape(app.env.titles[chapter].astext())
    rows = "".join(row(claim, address=f"{address}#{claim.anchor}") for claim in claims)
    head = f'<tr><th colspan="3" scope="rowgroup"><a href="{address}">{title}</a></th></tr>'
    return f"<tbody>{head}{rows}</tbody>"
