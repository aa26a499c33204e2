"""The timeline of GPUs: how much is hidden, and the reader's hands on it."""

import gpu_samples
import pytest
from playwright.sync_api import expect
from widget_page import Opener, overlapping_texts

from sgemm_lab.widgets import GpuTimeline
from sgemm_lab.widgets.gpu_timeline import MULTIPLIES, RECEIVES, GpuSpan, hidden_words


def span(what: str, start: float, end: float) -> GpuSpan:
    return {"gpu": 0, "what": what, "label": "C", "start": start, "end": end}


@pytest.mark.parametrize(
    ("products", "transfers", "words"),
    [
        ([(0, 4)], [(1, 2)], "after 4 ms. A GPU receives for 1 ms, and 100 % of that"),
        ([(0, 4)], [(3, 5)], "after 5 ms. A GPU receives for 2 ms, and 50 %"),
        ([(0, 1), (3, 4)], [(1, 3)], "for 2 ms, and 0 %"),
        # Two tiles that come at once take the time of the longer.
        ([(0, 9)], [(1, 3), (2, 5)], "for 4 ms, and 100 %"),
        # Two products at once hide no more than one.
        ([(0, 4), (1, 9)], [(1, 3), (8, 10)], "for 4 ms, and 75 %"),
        ([(0, 9)], [], "after 9 ms, and nothing travels"),
    ],
)
def test_what_is_hidden_is_counted_once(
    products: list[tuple[float, float]], transfers: list[tuple[float, float]], words: str
) -> None:
    spans = [span(MULTIPLIES, *one) for one in products]
    assert words in hidden_words(spans + [span(RECEIVES, *one) for one in transfers])


def test_products_at_once_stand_below_each_other() -> None:
    products = [(0, 4), (1, 9), (4, 8), (9, 10)]
    spans = [span(MULTIPLIES, *one) for one in products] + [span(RECEIVES, 0, 9)]
    widget = GpuTimeline([{"label": "x", "note": "", "spans": spans}])
    lanes = {
        (one["start"], one["end"], one["what"]): one["lane"] for one in widget.runs[0]["spans"]
    }
    assert [lanes[start, end, MULTIPLIES] for start, end in products] == [0, 1, 0, 0]
    assert lanes[0, 9, RECEIVES] == 0


def test_another_run_has_the_same_axis(show: Opener) -> None:
    page = show(GpuTimeline(gpu_samples.RUNS))
    product = "document.querySelector('.lab-multiplies rect').getAttribute('width')"
    before = page.evaluate(product)
    page.get_by_role("combobox", name="Run").select_option("2 GPUs, one after the other")
    expect(page.locator(".lab-verdict")).to_contain_text("0 % of that passes")
    assert page.evaluate(product) == before
    assert page.locator(".lab-receives").count() == 2
    assert overlapping_texts(page) == []
