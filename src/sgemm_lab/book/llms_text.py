"""The book as plain text for language models.

``llms.txt`` lists the pages, ``llms-full.txt`` holds their text.

Both are made from the built pages, so a value in a sentence is the value that a reader sees. What
is drawn is told by its description, its conclusion and its table; formulas are LaTeX.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag
from sphinx.application import Sphinx

LIST = "llms.txt"
WHOLE = "llms-full.txt"

_LEFT_OUT = (
    "script, style, form, button, svg, input, textarea, .headerlink, .lab-bench, .lab-said, "
    ".lab-widget-live, .lab-later, .onlyprint, .lab-widget-table > summary, [aria-hidden=true]"
)
_BLOCKS = {
    "p", "div", "section", "figure", "figcaption", "details", "summary", "ul", "ol", "dl", "dt",
    "dd", "pre", "table", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "fieldset", "aside",
}  # fmt: skip
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}


@dataclass(frozen=True)
class PageText:
    """A page in words."""

    name: str
    title: str
    description: str
    text: str


_READ: WeakKeyDictionary[Sphinx, list[PageText]] = WeakKeyDictionary()


def write(app: Sphinx) -> None:
    """Write both files to the built site."""
    site = Path(app.outdir)
    pages = texts(app)
    base = app.config.html_baseurl
    (site / LIST).write_text(listing(app.config.html_title, pages, base), encoding="utf-8")
    (site / WHOLE).write_text(
        "\n\n---\n\n".join(page.text for page in pages) + "\n", encoding="utf-8"
    )


def texts(app: Sphinx) -> list[PageText]:
    """Return the built pages in words, in order: read once for all that asks after a build."""
    if app not in _READ:
        _READ[app] = [page_text(Path(app.outdir), name) for name in pages_in_order(app)]
    return _READ[app]


def pages_in_order(app: Sphinx) -> list[str]:
    """Return the pages in the order of the table of contents."""
    relations = app.env.collect_relations()
    order = [app.config.root_doc]
    while following := relations.get(order[-1], (None, None, None))[2]:
        order.append(following)
    return order


def page_text(site: Path, name: str) -> PageText:
    """Read a built page: ``name`` is Sphinx's, such as "chapters/02_tiling"."""
    page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    said = page.select_one("meta[name=description]")
    # The theme's <main> holds its buttons and table of contents too.
    text = markdown(page.select_one("article") or page.select_one("[role=main]") or page)
    title = text.partition("\n")[0].removeprefix("# ")
    return PageText(name, title, str(said["content"]) if said else "", text)


def listing(book: str, pages: Iterable[PageText], base: str) -> str:
    """Return the list of pages, a line each. ``base`` is the site's address, or ""."""
    lines = [f"- [{page.title}]({base}{page.name}.html): {page.description}" for page in pages]
    head = [f"# {book}", "", f"All pages in one text: [{WHOLE}]({base}{WHOLE})", "", "## Pages", ""]
    return "\n".join([*head, *lines, ""])


def markdown(article: Tag) -> str:
    """Return the text of an article as Markdown. It changes the article."""
    for picture in article.select("svg[aria-label]"):
        picture.replace_with(_paragraph(f"[Picture: {picture['aria-label']}]"))
    for left_out in article.select(_LEFT_OUT):
        left_out.decompose()
    for formula in article.select("math"):
        _as_latex(formula)
    text = "\n\n".join(block for block in _blocks(article) if block.strip())
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _paragraph(text: str) -> Tag:
    paragraph = Tag(name="p")
    paragraph.append(text)
    return paragraph


def _as_latex(formula: Tag) -> None:
    latex = formula.select_one("annotation")
    written = " ".join((latex or formula).get_text().split())
    in_line = formula.get("display") != "block"
    formula.replace_with(f"${written}$" if in_line else f"$${written}$$")


def _blocks(tag: Tag) -> Iterator[str]:
    """Yield what stands one under the other in an element; text between blocks is a block."""
    line: list[str] = []
    for child in tag.children:
        if isinstance(child, Tag) and _is_block(child):
            yield _joined(line)
            line = []
            yield from _block(child)
        else:
            line.append(_inline(child))
    yield _joined(line)


def _is_block(tag: Tag) -> bool:
    return tag.name in _BLOCKS or tag.find(list(_BLOCKS)) is not None


def _block(tag: Tag) -> Iterator[str]:
    if re.fullmatch("h[1-6]", tag.name):
        yield f"{'#' * int(tag.name[1])} {_joined(map(_inline, tag.children))}"
    elif tag.name == "pre":
        yield f"```\n{tag.get_text().strip(chr(10))}\n```"
    elif tag.name == "table":
        yield "\n".join(_rows(tag))
    elif tag.name in ("ul", "ol"):
        items = [_item(item) for item in tag.find_all("li", recursive=False)]
        marks = ["-"] * len(items) if tag.name == "ul" else [f"{n + 1}." for n in range(len(items))]
        yield "\n".join(f"{mark} {item}" for mark, item in zip(marks, items, strict=True))
    elif tag.name == "dt":
        yield f"**{_joined(map(_inline, tag.children))}**"
    else:
        yield from _blocks(tag)


def _item(item: Tag) -> str:
    return "\n  ".join("\n".join(filter(str.strip, _blocks(item))).splitlines())


def _rows(table: Tag) -> Iterator[str]:
    if table.caption:
        yield f"{_joined(map(_inline, table.caption.children))}\n"
    for number, row in enumerate(table.find_all("tr")):
        cells = [_joined(map(_inline, cell.children)) for cell in row.find_all(["th", "td"])]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        if number == 0:
            yield f"|{'---|' * len(cells)}"


def _inline(node: object) -> str:
    if isinstance(node, NavigableString):
        return str(node)
    assert isinstance(node, Tag)
    inside = "".join(map(_inline, node.children))
    if node.name == "a" and str(node.get("href", "")).startswith("http"):
        return f"[{inside}]({node['href']})"
    mark = _MARKS.get(node.name, "")
    return f"{mark}{inside}{mark}" if inside.strip() else inside


def _joined(pieces: Iterable[str]) -> str:
    return " ".join("".join(pieces).split())
