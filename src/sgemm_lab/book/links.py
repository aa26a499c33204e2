"""The links above a page: its notebook, and Colab and the repository where they are known."""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgemm_lab.book import notebooks
from sgemm_lab.book.repository import known_repository

PUBLISHED = "notebooks"


def add_page_links(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Tell the template which links this page has: text, hint, icon and address of each."""
    repository = known_repository()
    links: list[tuple[str, ...]] = []
    if _is_chapter(app, page):
        notebook = f"{Path(page).name}.ipynb"
        address = context["pathto"](f"{PUBLISHED}/{notebook}", 1)
        links.append(
            ("Notebook", "Download this chapter as a notebook", "fa-solid fa-download", address)
        )
        if repository:
            hint = "Run this chapter on a GPU in Google Colab"
            colab = repository.colab_address(notebook)
            links.append(("Colab", hint, "fa-solid fa-play", colab))
    if repository is not None:
        links.append(("Source", "The book's repository", "fa-solid fa-code", repository.address))
    context["page_links"] = links


def publish_notebooks(app: Sphinx) -> None:
    """Write every chapter's notebook to the built site."""
    target = Path(app.outdir) / PUBLISHED
    shutil.rmtree(target, ignore_errors=True)
    repository = known_repository()
    for page in sorted(app.env.found_docs):
        if _is_chapter(app, page):
            notebooks.write(Path(app.env.doc2path(page)), target, repository)


def _is_chapter(app: Sphinx, page: str) -> bool:
    """Say whether the page runs cells: those pages have a notebook."""
    return "kernelspec" in app.env.metadata.get(page, {})
