"""A site's redirect to the first page, its site map, and its page for unknown addresses.

The map needs the site's address. Without one there is none: a wrong map is worse.
"""

import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 40rem; }
body { margin: 3rem auto; padding: 0 1rem; }
a { color: light-dark(#0550ae, #79b8ff); }
li { margin: 0.3rem 0; }"""
_FIND_ROOT = 'location.pathname.replace(/(?:chapters|notebooks|_static)\\/.*$|[^/]*$/, "")'
"""Where the address is unknown, a lost page tells the site's root from the folders that it has."""


_MOVED = {
    "08_warp_tile": "08_unrolling",
    "11_tensor_cores": "12_tensor_cores",
    "12_fewer_products": "14_fewer_products",
    "13_fewer_products": "14_fewer_products",
    "13_several_gpus": "15_several_gpus",
    "14_several_gpus": "15_several_gpus",
}
"""Former names of chapters' pages, each with today's."""
_LEAD_ON = (
    f"<script>const now = {json.dumps(_MOVED)}"
    '[location.pathname.replace(/^.*\\/|\\.html$/g, "")];\n'
    "if (now) location.replace(new URL(`chapters/${now}.html`, document.baseURI).href"
    " + location.hash);</script>\n"
)


class PageName(NamedTuple):
    """A page: Sphinx's name of it, such as "chapters/02_tiling", and its title."""

    name: str
    title: str


def write(app: Sphinx) -> None:
    """Write the files to the built site."""
    site = Path(app.outdir)
    pages = [PageName(name, app.env.titles[name].astext()) for name in _in_order(app)]
    book, base = app.config.html_title, app.config.html_baseurl
    first = (site / f"{pages[0].name}.html").read_text(encoding="utf-8")
    says = re.search(r'<meta name="description" content="([^"]*)"', first)
    door = front_door(book, pages[0].name, says[1] if says else "", base)
    (site / "index.html").write_text(door, encoding="utf-8")
    (site / "404.html").write_text(lost(book, pages, base), encoding="utf-8")
    for name in ("sitemap.xml", "robots.txt"):
        (site / name).unlink(missing_ok=True)
    if base:
        (site / "sitemap.xml").write_text(site_map(pages, base), encoding="utf-8")
    if base.count("/") == 3:  # Elsewhere nobody asks for it.
        (site / "robots.txt").write_text(f"Sitemap: {base}sitemap.xml\n", encoding="utf-8")


def _in_order(app: Sphinx) -> list[str]:
    """Return the pages in the order of the table of contents."""
    relations = app.env.collect_relations()
    order = [app.config.root_doc]
    while following := relations.get(order[-1], (None, None, None))[2]:
        order.append(following)
    return order


def front_door(book: str, first: str, says: str, base: str) -> str:
    """Return a page that leads to the first one, and has its description, as HTML."""
    there = f"{first}.html"
    canonical = f'<link rel="canonical" href="{escape(base + there)}">\n' if base else ""
    head = (
        f'<meta http-equiv="refresh" content="0; url={there}">\n{canonical}'
        f'<meta name="description" content="{says}">\n'
        f'<meta property="og:title" content="{escape(book)}">\n'
        f'<meta property="og:description" content="{says}">\n'
    )
    return _page(book, head, f'<p><a href="{there}">{escape(book)}</a></p>')


def lost(book: str, pages: Iterable[PageName], base: str) -> str:
    """Return the page for an address that leads nowhere. It may be shown under any such address.

    Args:
        book: the book's title.
        pages: what there is instead.
        base: the site's address, or "".
    """
    root = (
        f'<base href="{escape(base)}">\n'
        if base
        else "<script>document.head.append(Object.assign(document.createElement('base'), "
        f"{{ href: {_FIND_ROOT} }}));</script>\n"
    )
    links = "\n".join(
        f'<li><a href="{page.name}.html">{escape(page.title)}</a></li>' for page in pages
    )
    says = f"There is no page at this address. These are the pages of “{escape(book)}”."
    head = f'{root}{_LEAD_ON}<meta name="description" content="{says}">\n'
    return _page(
        "No such page", head, f"<h1>No such page</h1>\n<p>{says}</p>\n<ul>\n{links}\n</ul>"
    )


def site_map(pages: Iterable[PageName], base: str) -> str:
    """Return the list of all pages that search engines read."""
    places = "\n".join(
        f"<url><loc>{escape(f'{base}{page.name}.html')}</loc></url>" for page in pages
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}\n</urlset>\n'
    )


def _page(title: str, head: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{head}<style>\n{_STYLE}\n</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
