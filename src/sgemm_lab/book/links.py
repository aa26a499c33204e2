"""The links above a page: its notebook, and Colab and the repository where they are known."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sgemm_lab.book import notebooks
from sgemm_lab.book.repository import Repository, known_repository

PUBLISHED = "notebooks"


@dataclass(frozen=True)
class PageLink:
    """One button above an article."""

    text: str
    hint: str
    icon: str
    address: str
    download: bool = False


def add_page_links(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Tell the template which links this page has."""
    repository = known_repository(Path(app.srcdir))
    links: list[PageLink] = []
    if _is_chapter(app, page):
        notebook = f"{Path(page).name}.ipynb"
        address = context["pathto"](f"{PUBLISHED}/{notebook}", 1)
        links += _notebook_links(notebook, address, repository)
    if repository is not None:
        links.append(
            PageLink("Source", "The book's repository", "fa-solid fa-code", repository.address)
        )
    context["page_links"] = links


def publish_notebooks(app: Sphinx) -> None:
    """Write every chapter's notebook to the built site."""
    target = Path(app.outdir) / PUBLISHED
    shutil.rmtree(target, ignore_errors=True)
    repository = known_repository(Path(app.srcdir))
    for page in sorted(app.env.found_docs):
        if _is_chapter(app, page):
            notebooks.write(Path(app.env.doc2path(page)), target, repository)


def _is_chapter(app: Sphinx, page: str) -> bool:
    """Say whether the page runs cells: those pages have a notebook."""
    return "kernelspec" in app.env.metadata.get(page, {})


def _notebook_links(notebook: str, address: str, repository: Repository | None) -> list[PageLink]:
    links = [
        PageLink(
            "Notebook",
            "Download this chapter as a notebook",
            "fa-solid fa-download",
            address,
            download=True,
        )
    ]
    colab = repository.colab_address(notebook) if repository else None
    if colab:
        hint = "Run this chapter on a GPU in Google Colab"
        links.append(PageLink("Colab", hint, "fa-solid fa-play", colab))
    return links
