"""The notes that this book grew from: each of their items has a place in a chapter."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from sites import ROOT

ITEMS: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "seed_items.json").read_text(encoding="utf-8")
)
PAGES = {
    int(path.stem[:2]): " ".join(path.read_text(encoding="utf-8").split())
    for path in (ROOT / "chapters").glob("[0-9][0-9]_*.md")
}


@pytest.mark.parametrize("item", ITEMS, ids=[f"{item['note']}: {item['item']}" for item in ITEMS])
def test_item_of_the_notes_has_its_place(item: dict[str, Any]) -> None:
    page = PAGES.get(item["chapter"], "")
    assert page, f"There is no chapter {item['chapter']} yet."
    assert re.search(item["phrase"], page), (
        f"Chapter {item['chapter']} has nothing that matches {item['phrase']!r}."
    )


def test_phrases_say_enough_to_be_found_in_one_place() -> None:
    assert min(len(item["phrase"]) for item in ITEMS) >= 8


def test_every_item_is_told_apart_and_every_note_is_there() -> None:
    assert {item["note"] for item in ITEMS} == {"000", "001", "002", "003", "004"}
    assert max(Counter((item["note"], item["item"]) for item in ITEMS).values()) == 1
    assert len(ITEMS) >= 100
