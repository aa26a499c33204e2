"""The ledger: every claim that the chapters put to the test, on one page."""

from collections import Counter
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.collecting import gathered
from sgemm_lab.lab.verdicts import HEAD, SIGNS, Claim, row

_FILTER = (
    '<label><input type="radio" name="lab-ledger" value="{value}"{checked}>'
    "<span>{text}</span></label>"
)


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


def filter_css() -> str:
    """Return CSS that leaves only the claims of the chosen verdict, and their chapters."""
    rules = ""
    for verdict in SIGNS:
        chosen = f'.lab-ledger:has([value="{verdict}"]:checked) tbody'
        row_of_it = f'tr[data-verdict="{verdict}"]'
        rules += f"{chosen}:not(:has({row_of_it})),"
        rules += f"{chosen} tr[data-verdict]:not({row_of_it}){{display:none}}\n"
    return rules


def _html(app: Sphinx, page: str) -> str:
    chapters = {
        chapter: [Claim(**fields) for table in tables for fields in table]
        for chapter, tables in gathered(app.env, "verdicts").items()
    }
    count = Counter(claim.verdict for claims in chapters.values() for claim in claims)
    bodies = "".join(_chapter(app, page, chapter, claims) for chapter, claims in chapters.items())
    return (
        f'<div class="lab-ledger">{_filters(count)}<div class="lab-scroll">'
        f'<table class="lab-table lab-verdicts">{HEAD}{bodies}</table></div></div>'
    )


def _filters(count: Counter[str]) -> str:
    choices = _FILTER.format(value="all", checked=" checked", text=f"all {count.total()}")
    for verdict, sign in SIGNS.items():
        if count[verdict]:
            text = f'<span aria-hidden="true">{sign}</span> {verdict} {count[verdict]}'
            choices += _FILTER.format(value=verdict, checked="", text=text)
    return f"<fieldset><legend>Show</legend>{choices}</fieldset>"


def _chapter(app: Sphinx, page: str, chapter: str, claims: list[Claim]) -> str:
    address = escape(app.builder.get_relative_uri(page, chapter))
    title = escape(app.env.titles[chapter].astext())
    rows = "".join(
        row(
            claim,
            attributes=f' data-verdict="{claim.verdict}"',
            address=f"{address}#{claim.anchor}",
        )
        for claim in claims
    )
    head = f'<tr><th colspan="3" scope="rowgroup"><a href="{address}">{title}</a></th></tr>'
    return f"<tbody>{head}{rows}</tbody>"
