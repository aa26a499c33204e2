"""What a page says of itself: to search engines, in link previews and in links to it."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgemm_lab.book import share_cards
from sgemm_lab.book.share_cards import FIELD


def add_head(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: object
) -> None:
    """Tell the template what to say of a page: its title, and what it changes.

    The picture needs the site's address, and a browser that draws it.
    """
    title = app.env.titles[page].astext() if doctree is not None else context.get("title", "Search")
    change = app.env.metadata.get(page, {}).get(FIELD)
    said = f"{title}. {change}" if change else title
    context["description"] = f"{said}. A page of “{app.config.html_title}”."
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
