"""The choice of a kernel: predicted times at any M, N, K, the pick, and what others would cost."""

import pytest
from choice_samples import FITTED
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab import lab
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.records.dispatch_table import load_tables
from sgemm_lab.widgets import KernelChoice


@pytest.fixture
def page(show: Opener) -> Page:
    return show(KernelChoice(FITTED, m=1024, n=1024, k=800))


def test_each_kernel_stands_with_its_best_candidate_fastest_first() -> None:
    widget = KernelChoice(FITTED, m=1024, n=1024, k=800)
    # 256 tiles of 64 × 64, 1,024 of 32 × 32, 64 of 128 × 128, each of 100 K tiles, on 132 SMs.
    expected = [("small", 10e-6 + 2 * 100 * 0.1e-6), ("large", 10e-6 + 100 * 0.3e-6)]
    assert [label for label, _ in widget.ranking] == ["small", "large"]
    assert [time for _, time in widget.ranking] == pytest.approx([time for _, time in expected])
    assert "<td>40.0</td><td>1.33</td>" in widget.table()
    parts = widget.parts("thread_tile:BM=64,BN=64")
    assert (parts["start"], parts["work"]) == pytest.approx((10e-6, 2 * 100 * 0.1e-6))


def test_kernels_are_candidates_within_their_range_and_other_rows_cost_more() -> None:
    widget = KernelChoice(FITTED, m=256, n=1024, k=800)
    assert "split" in [label for label, _ in widget.ranking]
    fast = dict(widget.ranking)
    widget.n = 1023
    assert dict(widget.ranking)["large"] == pytest.approx(2 * fast["large"])


def test_the_book_picks_what_the_dispatcher_predicts_to_be_fastest() -> None:
    widget = lab.kernel_choice((300, 500, 7000))
    for chip in widget.gpus:
        table = next(table for table in load_tables() if table.gpu.name == chip["name"])
        choice = Picker(table.gpu, [table]).pick(*widget.size)
        widget.gpu = chip["id"]
        label, seconds = widget.ranking[0]
        assert seconds == choice.seconds
        assert label.startswith(choice.kernel.base_name)


def test_the_page_shows_the_pick_and_what_another_kernel_costs(page: Page) -> None:
    verdict, rows = page.locator(".lab-verdict"), page.locator(".lab-candidate")
    expect(verdict).to_contain_text("On H200 at 1024×1024×800 the model alone picks small, at 30")
    expect(rows).to_have_count(2)  # the third is not for this size
    expect(rows.nth(1)).to_contain_text("40 µs, 1.33 ×")
    rows.nth(1).click()
    expect(verdict).to_contain_text("large would take 1.33 times as long.")
    terms = page.locator("tbody tr")
    expect(terms.filter(has_text="K tiles of all blocks")).to_contain_text("10030")
    rows.nth(1).press("Enter")  # again: back to the pick
    expect(terms.filter(has_text="K tiles of all blocks")).to_contain_text("20020")
