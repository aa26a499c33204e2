"""What was measured is never typed by hand: numerals with units are definitions, or computed."""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from numerals import numerals
from sites import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
ALLOWED = json.loads((ROOT / "tests" / "data" / "allowed_numerals.json").read_text())


def allowed() -> dict[str, set[str]]:
    by_chapter: dict[str, set[str]] = defaultdict(set)
    for entry in ALLOWED:
        by_chapter[entry["chapter"]].add(entry["text"])
    return by_chapter


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_measured_numeral_is_typed_by_hand(chapter: Path) -> None:
    typed = set(numerals(chapter.read_text())) - allowed()[chapter.stem]
    assert not typed, (
        "Let the page work it out ({value}`…`), or list it in tests/data/allowed_numerals.json "
        f"if it is a definition or a size: {sorted(typed)}"
    )


def test_allowed_numerals_are_in_use_and_have_a_reason() -> None:
    used = {chapter.stem: set(numerals(chapter.read_text())) for chapter in CHAPTERS}
    for entry in ALLOWED:
        assert entry["text"] in used.get(entry["chapter"], set()), entry
        assert len(entry["why"]) > 10, entry


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It makes 1,234.5 GFLOP/s here.", ["1,234.5 GFLOP/s"]),
        ("Up to 4 TB/s, 13%,\n29\ncycles.", ["4 TB/s", "13 %", "29 cycles"]),
        ("It is 1.5× as fast, or 1.5 times.", ["1.5 ×", "1.5 times"]),
        ("It needs 48 KB and 3 µs.", ["48 KB", "3 µs"]),
        ("So $2 \\cdot 4 = 8$ GB/s.", ["8 GB/s"]),
        ("It makes {value}`x / 4:.0%` of {value}`3` GB/s, not 5 %.", ["5 %"]),
        ("::::{exercise} 1.1 At 7 %\nIt takes 5 ms.\n::::", ["7 %", "5 ms"]),
        ("```{note}\nIt takes 5 ms.\n```", ["5 ms"]),
        ("| speed |\n| --- |\n| 12 GB/s |", ["12 GB/s"]),
        ("A 2 × 2 tile, 4096×4096, 32 threads, $50 \\%$ or `7 ms`, [a](5%.md).", []),
        ("```cuda\nint x;  // 5 ms\n```\n```{code-cell} ipython3\nx = '5 ms'\n```", []),
        ("---\nchange: 5 ms\n---\nNothing.", []),
    ],
)
def test_numeral_in_prose_is_caught(text: str, found: list[str]) -> None:
    assert numerals(text) == found
