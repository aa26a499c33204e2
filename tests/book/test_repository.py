"""Where the book is published: asked of the environment."""

import pytest

from sgemm_lab.book.repository import SITE_VARIABLE, Repository, known_repository, site_address

HERE = Repository("https://github.com", "someone/the-book")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SITE_VARIABLE, "GITHUB_REPOSITORY", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("someone/the-book", "https://someone.github.io/the-book/"),
        ("Someone/Book", "https://someone.github.io/Book/"),
        ("someone/someone.github.io", "https://someone.github.io/"),
    ],
)
def test_pages_have_an_address_that_follows(path: str, address: str) -> None:
    assert Repository("https://github.com", path).pages_address == address


def test_the_workflow_names_the_repository_and_the_site_may_have_another_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert known_repository() is None
    assert site_address() == ""
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/the-book")
    assert known_repository() == HERE
    assert site_address() == HERE.pages_address
    assert HERE.colab_address("1.ipynb").endswith("someone/the-book/blob/notebooks/1.ipynb")
    monkeypatch.setenv(SITE_VARIABLE, "https://book.example")
    assert site_address() == "https://book.example/"
    monkeypatch.setenv(SITE_VARIABLE, "")
    assert site_address() == ""
