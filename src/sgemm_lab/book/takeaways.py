"""The link under a chapter's takeaway, where the short path goes on to the next chapter."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode


def add_next(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """End the takeaway of a chapter with a link to the next page, if that is a chapter too."""
    after = getattr(app.builder, "relations", {}).get(page, (None, None, None))[2]
    if not after or not after.rpartition("/")[2][:2].isdigit():
        return
    for box in doctree.findall(nodes.admonition):
        if "takeaway" in box["classes"]:
            title = nodes.Text(app.env.titles[after].astext())
            link = make_refnode(app.builder, page, after, "", title)
            rest = nodes.Text(". The rest of this page is for a second reading.")
            box += nodes.paragraph("", "", nodes.Text("Next: "), link, rest)
