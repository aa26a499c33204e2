"""The scoreboard: what is filtered and sorted in the page."""

from math import prod
from typing import Any

from playwright.sync_api import Page, expect
from score_samples import ROWS
from widget_page import Opener

from sgemm_lab.text import number
from sgemm_lab.widgets import Scoreboard


def table(page: Page) -> list[list[str]]:
    rows = page.locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def order(page: Page) -> list[int]:
    """The rows of the samples that are shown, which their speeds tell apart."""
    speeds = [number(row["gflops"]) for row in ROWS]
    return [speeds.index(cells[2]) for cells in table(page)]


def expected(column: str, *, falling: bool) -> list[int]:
    """The order by a column: ties as in the samples, rows without a value last."""
    known = [i for i, row in enumerate(ROWS) if column in row]

    def value(i: int) -> Any:
        row: Any = ROWS[i]
        return prod(row["size"]) if column == "size" else row[column]

    rest = [i for i in range(len(ROWS)) if i not in known]
    return sorted(known, key=value, reverse=falling) + rest


def test_each_head_sorts_and_turns_the_order_round(show: Opener) -> None:
    widget = Scoreboard(ROWS)
    page = show(widget)
    assert order(page) == expected("gflops", falling=True)
    assert table(page)[2] == [
        "stream_k", "1024³", "13,750", "110 %", "fp32", "1.25·10⁻⁶", "0.8", "55 %", "issue slots",
        "2026-11-20",
    ]  # fmt: skip
    for column, head in widget.heads.items():
        for _ in range(2):
            page.get_by_role("button", name=head, exact=True).click()
            sorted_by = page.locator("th[aria-sort]")
            expect(sorted_by).to_have_count(1)
            expect(sorted_by).to_have_text(head)
            falling = sorted_by.get_attribute("aria-sort") == "descending"
            assert order(page) == expected(column, falling=falling)


def test_filters_and_search_work_together(show: Opener) -> None:
    page = show(Scoreboard(ROWS))
    page.get_by_label("GPU").select_option("Tesla T4")
    page.get_by_label("Size").select_option("2048×2048×2048")
    page.get_by_label("Kernel").fill("TI")
    assert [cells[0] for cells in table(page)] == ["tiled:TILE=16"]
    expect(page.get_by_role("status")).to_have_text(
        "1 row. The fastest is tiled:TILE=16 at 2048³ on Tesla T4: 500 GFLOP/s, 16 % of cuBLAS in "
        "the same arithmetic."
    )
    page.get_by_label("Arithmetic").select_option("3xtf32")
    expect(page.get_by_role("status")).to_contain_text("No row fits all of this")
    assert table(page) == []
