"""What a page says of itself: to search engines, in link previews and in links to it."""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgemm_lab.files import CHECKOUT

FIELD = "change"
"""The field of a page's front matter that says in a short sentence what the page changes."""
PICTURE = "page-light.png"
"""The README's picture, which goes with the address of every page where it is shared."""


def add_head(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: object
) -> None:
    """Tell the template what to say of a page: its title, and what it changes."""
    title = app.env.titles[page].astext() if doctree is not None else "Search"
    change = app.env.metadata.get(page, {}).get(FIELD)
    said = f"{title}. {change}" if change else title
    context["description"] = f"{said}. A page of “{app.config.html_title}”."
    context["kind_of_page"] = "website" if page == app.config.root_doc else "article"
    if app.config.html_baseurl:
        context["preview"] = f"{app.config.html_baseurl}_static/{PICTURE}"


def write_picture(app: Sphinx) -> None:
    """Write the picture to the built site, if its address is known: it is found by that alone."""
    if app.config.html_baseurl:
        shutil.copy(CHECKOUT / "docs" / PICTURE, Path(app.outdir) / "_static")


def add_changes(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Give the links to the neighbouring pages the sentences of those pages."""
    _, before, after = getattr(app.builder, "relations", {}).get(page, (None, None, None))
    for place, neighbour in (("prev", before), ("next", after)):
        if neighbour and context.get(place):
            change = app.env.metadata[neighbour].get(FIELD, "")
            context[place] = {**context[place], FIELD: change}
