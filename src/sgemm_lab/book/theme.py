"""The colours of the book's pages as CSS, generated from the one table of colours."""

from pygments.formatters import HtmlFormatter

from sgemm_lab.book.ledger import filter_css
from sgemm_lab.style import theme_css

LIGHT_CODE = "github-light"
DARK_CODE = "github-dark"


def stylesheet() -> str:
    """Return the CSS that no file holds: colours, those of sources, the ledger's filter."""
    light, dark = source_colours("light", LIGHT_CODE), source_colours("dark", DARK_CODE)
    return theme_css("body") + light + dark + filter_css()


def source_colours(mode: str, code_style: str) -> str:
    """Return Pygments' token colours for a kernel's source in one mode of the page.

    The editor of a panel has the classes of a listing, so that it has its colours.
    """
    formatter = HtmlFormatter(style=code_style)
    scope = f'html[data-theme="{mode}"] :is(.lab-source pre, .cm-line)'
    rules: list[str] = formatter.get_token_style_defs(scope)  # type: ignore[no-untyped-call]
    return "\n".join([*rules, ""])
