"""The picture in README shows what the page of the built book says when it is at work."""

import re
from pathlib import Path
from typing import Any

import pytest
import readme_picture
from PIL import Image
from sites import ROOT, Site

README = (ROOT / "README.md").read_text(encoding="utf-8")


def said_in(path: Path) -> str:
    with Image.open(path) as shown:
        return str(shown.info[readme_picture.SAID])


def test_readme_has_a_picture_for_each_mode_and_words_for_who_sees_none() -> None:
    shown = re.findall(r'(?:srcset|src)="(docs/page-\w+\.png)"', README)
    assert sorted(shown) == [f"docs/page-{mode}.png" for mode in sorted(readme_picture.MODES)]
    for name in shown:
        assert (ROOT / name).stat().st_size < 200_000
        with Image.open(ROOT / name) as found:
            assert found.width > 1000
    assert re.search(r'<img alt="[^"]{40,}" src="docs/page-light\.png"', README)


@pytest.mark.whole
@pytest.mark.browser
def test_pictures_show_what_the_page_says(book: Site, chromium: Any) -> None:
    _, said = readme_picture.picture(chromium, book.address, "light")
    assert re.search(r"Threads race .* thread \(0, 0\) .* thread \(0, 31\)", said)
    kept = {said_in(ROOT / "docs" / f"page-{mode}.png") for mode in readme_picture.MODES}
    assert kept == {said}, "The page says something else now. Run: make picture"
