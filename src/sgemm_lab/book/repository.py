"""The address at which this copy of the book is published, from the environment or git."""

import os
import re
import subprocess
from dataclasses import dataclass
from html import escape
from pathlib import Path

ADDRESS_VARIABLE = "SGEMM_LAB_REPOSITORY"
SITE_VARIABLE = "SGEMM_LAB_SITE"
NOTEBOOKS_BRANCH = "notebooks"
"""Written by the workflow that publishes: notebooks alone."""
_REMOTE = re.compile(
    r"^(?:https?://(?:[^@/]*@)?|ssh://(?:[^@/]*@)?|[^@/]+@)"
    r"(?P<host>[\w.-]+\.[a-z]+)(?::\d+)?[:/](?P<path>[\w.-]+/[\w./-]+?)(?:\.git)?/?$"
)


@dataclass(frozen=True)
class Repository:
    """A public repository: ``host`` and ``path`` such as "github.com", "someone/book"."""

    host: str
    path: str

    @property
    def address(self) -> str:
        """The repository's web page."""
        return f"https://{self.host}/{self.path}"

    @property
    def install_target(self) -> str:
        """What ``pip install`` takes: where a workflow builds, the commit that it builds from."""
        commit = os.environ.get("GITHUB_SHA")
        return f"sgemm-lab @ git+{self.address}" + (f"@{commit}" if commit else "")

    @property
    def pages_address(self) -> str:
        """The address of this repository's pages at its host; "" if unknown."""
        owner, _, name = self.path.lower().partition("/")
        if self.host != "github.com" or not name:
            return ""
        folder = "" if name == f"{owner}.github.io" else f"{self.path.partition('/')[2]}/"
        return f"https://{owner}.github.io/{folder}"

    def colab_address(self, notebook: str) -> str | None:
        """Where Colab opens a published notebook. Colab reads GitHub alone."""
        if self.host != "github.com":
            return None
        place = f"{self.path}/blob/{NOTEBOOKS_BRANCH}/{notebook}"
        return f"https://colab.research.google.com/github/{place}"


def parse(remote: str) -> Repository | None:
    """Read a git remote's address. User names and tokens in it are dropped."""
    found = _REMOTE.match(remote.strip())
    return Repository(found["host"], found["path"]) if found else None


def known_repository(folder: Path) -> Repository | None:
    """Return the repository of the checkout in ``folder``, or None where nobody has said."""
    named = os.environ.get(ADDRESS_VARIABLE)
    if named is not None:
        return parse(named)
    if "GITHUB_REPOSITORY" in os.environ:
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        return parse(f"{server}/{os.environ['GITHUB_REPOSITORY']}")
    try:
        asked = subprocess.run(
            ["git", "-C", str(folder), "remote", "get-url", "origin"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    return parse(asked.stdout) if asked.returncode == 0 else None


def site_address(folder: Path) -> str:
    """Return the address of the site that is built from ``folder``, with a slash at its end.

    It is "" where nobody knows. ``SGEMM_LAB_SITE`` names one, such as that of a domain of its own.
    """
    named = os.environ.get(SITE_VARIABLE)
    if named is not None:
        return f"{named.rstrip('/')}/" if named else ""
    repository = known_repository(folder)
    return repository.pages_address if repository else ""


def notebook_ways(page: str, repository: Repository | None) -> list[str]:
    """Return links to a chapter's notebook, as HTML: on Colab where the site has it, and its file.

    Args:
        page: Sphinx's name of the chapter, such as "chapters/02_tiling".
        repository: where this copy of the book is published.
    """
    up, notebook = "../" * page.count("/"), f"{page.rpartition('/')[2]}.ipynb"
    colab = repository.colab_address(notebook) if repository else None
    ways = [f'<a href="{escape(colab)}">on Colab</a>'] if colab else []
    return [*ways, f'<a href="{up}notebooks/{notebook}" download>in this chapter\'s notebook</a>']
