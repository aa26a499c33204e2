"""The foot of a page: what the page before and the page after change."""

from typing import Any

from sphinx.application import Sphinx

FIELD = "change"
"""The field of a page's front matter that says in a short sentence what the page changes."""


def add_changes(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Give the links to the neighbouring pages the sentences of those pages."""
    _, before, after = getattr(app.builder, "relations", {}).get(page, (None, None, None))
    for place, neighbour in (("prev", before), ("next", after)):
        if neighbour and context.get(place):
            change = app.env.metadata[neighbour].get(FIELD, "")
            context[place] = {**context[place], FIELD: change}
