"""Where this copy of the book is published: GitHub's workflow says so in its environment."""

import os
from dataclasses import dataclass
from html import escape

SITE_VARIABLE = "SGEMM_LAB_SITE"
NOTEBOOKS_BRANCH = "notebooks"
"""Written by the workflow that publishes: notebooks alone."""


@dataclass(frozen=True)
class Repository:
    """A public repository at GitHub: its server and ``path``, such as "someone/book"."""

    server: str
    path: str

    @property
    def address(self) -> str:
        """The repository's web page."""
        return f"{self.server}/{self.path}"

    @property
    def install_target(self) -> str:
        """What ``pip install`` takes: where a workflow builds, the commit that it builds from."""
        commit = os.environ.get("GITHUB_SHA")
        return f"sgemm-lab @ git+{self.address}" + (f"@{commit}" if commit else "")

    @property
    def pages_address(self) -> str:
        """The address of this repository's pages."""
        owner, _, name = self.path.partition("/")
        site = f"{owner.lower()}.github.io"
        return f"https://{site}/" + (f"{name}/" if name.lower() != site else "")

    def colab_address(self, notebook: str) -> str:
        """Where Colab opens a published notebook."""
        place = f"{self.path}/blob/{NOTEBOOKS_BRANCH}/{notebook}"
        return f"https://colab.research.google.com/github/{place}"


def known_repository() -> Repository | None:
    """Return the repository whose workflow builds the book, or None elsewhere."""
    path = os.environ.get("GITHUB_REPOSITORY")
    return (
        Repository(os.environ.get("GITHUB_SERVER_URL", "https://github.com"), path)
        if path
        else None
    )


def site_address() -> str:
    """Return the address of the site, with a slash at its end.

    It is "" where nobody knows. ``SGEMM_LAB_SITE`` names one, such as that of a domain of its own.
    """
    named = os.environ.get(SITE_VARIABLE)
    if named is not None:
        return f"{named.rstrip('/')}/" if named else ""
    repository = known_repository()
    return repository.pages_address if repository else ""


def notebook_ways(page: str) -> list[str]:
    """Return links to a chapter's notebook, as HTML: on Colab where the site has it, and its file.

    ``page`` is Sphinx's name of the chapter, such as "chapters/02_tiling".
    """
    repository = known_repository()
    up, notebook = "../" * page.count("/"), f"{page.rpartition('/')[2]}.ipynb"
    colab = repository.colab_address(notebook) if repository else None
    ways = [f'<a href="{escape(colab)}">on Colab</a>'] if colab else []
    return [*ways, f'<a href="{up}notebooks/{notebook}" download>in this chapter\'s notebook</a>']
