"""A number in a verdict is one that the page shows elsewhere, so that the two cannot part."""

import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from sites import Site

_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\w)")
_FEW = 3  # digits; shorter numbers stand on every page

ONLY_THERE = {
    "03_sliding_window": {"583", "12,288"},  # DRAM's bandwidth; an example worked in the verdict
    "04_float4": {"5120", "6016"},  # widths of two cards' buses
}


def test_numbers_of_verdicts_stand_elsewhere_on_the_page(book: Site) -> None:
    strays = {}
    for path in sorted((book.folder / "chapters").glob("[0-9]*.html")):
        said, page = verdicts_and_rest(path)
        found = {number for number in said if not any(agree(number, other) for other in page)}
        if found:
            strays[path.stem] = found
    assert strays == ONLY_THERE


def verdicts_and_rest(path: Path) -> tuple[set[str], set[str]]:
    """Numbers of a page's verdicts, short ones left out, and all its other numbers."""
    article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find("article")
    assert isinstance(article, Tag)
    said: set[str] = set()
    for table in article.select("table.lab-verdicts"):
        for cell in table.select("td:nth-of-type(3)"):
            said |= {n for n in numbers(cell) if sum(map(str.isdigit, n)) >= _FEW}
        table.extract()
    return said, numbers(article)


def numbers(tag: Tag) -> set[str]:
    return set(_NUMBER.findall(tag.get_text(" ")))


def agree(one: str, other: str) -> bool:
    """Whether two numbers are the same, or one is the other rounded."""
    places = min(len(number.partition(".")[2]) for number in (one, other))
    digits = min(sum(map(str.isdigit, number)) for number in (one, other))
    first, second = (float(number.replace(",", "")) for number in (one, other))
    return digits >= _FEW and abs(first - second) <= 0.5000001 * 10**-places
