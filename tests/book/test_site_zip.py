"""The site as a zip: whole but for the compiler, the same bytes again, and it opens from disk."""

import zipfile
from pathlib import Path

import pytest
from sites import Site

from sgemm_lab.book.site_zip import FOLDER, write
from sgemm_lab.errors import LabError


def test_without_a_site_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="Build the book first: make book"):
        write(tmp_path, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_compiler_stays_out_and_the_same_site_gives_the_same_bytes(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("index.html", "_static/clang/llvm.wasm.gz", "chapters/clang/a.html"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(name)
    assert write(site, tmp_path / "one.zip") == 2
    for path in site.rglob("*.html"):
        path.touch()
    write(site, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == [f"{FOLDER}/chapters/clang/a.html", f"{FOLDER}/index.html"]


@pytest.mark.browser
def test_the_unpacked_book_lives_on_disk(book: Site, contexts: object, tmp_path: Path) -> None:
    write(book.folder, tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as archive:
        archive.extractall(tmp_path)
    unpacked = Site(tmp_path / FOLDER, book.address)
    visit = contexts().goto(unpacked, "chapters/02_tiling.html", scheme="file")  # type: ignore[operator]
    assert visit.console == []
    assert visit.outside == []
    assert visit.page.locator(".lab-widget.is-live").count() > 0
