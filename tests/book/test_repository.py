"""Where the book is published: asked of the environment, then of git."""

import subprocess
from pathlib import Path

import pytest

from sgemm_lab.book.repository import (
    ADDRESS_VARIABLE,
    SITE_VARIABLE,
    Repository,
    known_repository,
    parse,
    site_address,
)

HERE = Repository("github.com", "someone/the-book")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (ADDRESS_VARIABLE, SITE_VARIABLE, "GITHUB_REPOSITORY", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/someone/the-book",
        "https://github.com/someone/the-book.git\n",
        "https://name:secret@github.com/someone/the-book.git",
        "git@github.com:someone/the-book.git",
        "ssh://git@github.com/someone/the-book.git",
    ],
)
def test_reads_every_way_to_write_a_remote(remote: str) -> None:
    assert parse(remote) == HERE


@pytest.mark.parametrize("remote", ["", "/srv/git/book.git", "../book", "https://github.com/"])
def test_a_folder_is_no_published_address(remote: str) -> None:
    assert parse(remote) is None


def test_environment_goes_before_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert known_repository(tmp_path) is None
    remote = ["git", "-C", str(tmp_path), "remote", "add", "origin"]
    subprocess.run([*remote, "https://example.org/a/b"], check=True)
    assert known_repository(tmp_path) == Repository("example.org", "a/b")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/the-book")
    assert known_repository(tmp_path) == HERE
    monkeypatch.setenv(ADDRESS_VARIABLE, "https://gitlab.com/x/y")
    assert known_repository(tmp_path) == Repository("gitlab.com", "x/y")
    monkeypatch.setenv(ADDRESS_VARIABLE, "")
    assert known_repository(tmp_path) is None


def test_colab_opens_notebooks_from_github_alone() -> None:
    address = HERE.colab_address("01_x.ipynb")
    assert address is not None
    assert address.endswith("/github/someone/the-book/blob/notebooks/01_x.ipynb")
    assert Repository("gitlab.com", "x/y").colab_address("01_x.ipynb") is None


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        (HERE, "https://someone.github.io/the-book/"),
        (Repository("github.com", "Someone/Book"), "https://someone.github.io/Book/"),
        (Repository("github.com", "someone/someone.github.io"), "https://someone.github.io/"),
        (Repository("example.org", "a/b"), ""),
    ],
)
def test_pages_of_github_have_an_address_that_follows(repository: Repository, address: str) -> None:
    assert repository.pages_address == address


def test_site_may_be_told_its_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert site_address(tmp_path) == ""
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/the-book")
    assert site_address(tmp_path) == HERE.pages_address
    monkeypatch.setenv(SITE_VARIABLE, "https://book.example")
    assert site_address(tmp_path) == "https://book.example/"
    monkeypatch.setenv(SITE_VARIABLE, "")
    assert site_address(tmp_path) == ""
