"""Very many GPUs on paper: both languages say the same, and sliders stay within what they offer."""

import pytest
from playwright.sync_api import expect
from widget_page import Opener, overlapping_texts

from sgemm_lab.widgets import ManyGpus
from sgemm_lab.widgets.many_gpus import COPIES, GBS, GPUS, SIZES


def test_copies_pay_where_the_link_decides() -> None:
    widget = ManyGpus(51.0)
    plain, copies = (widget.reckoned(1024, number).efficiency for number in (1, 4))
    assert copies > 1.4 * plain
    assert "the link decides" in widget.alt
    widget.size = 262144
    plain, copies = (widget.reckoned(1024, number).efficiency for number in (1, 4))
    assert copies < plain
    assert "the transfers are hidden" in widget.alt


def test_too_few_gpus_for_the_copies_are_named() -> None:
    widget = ManyGpus(51.0, gpus=16, copies=4)
    assert "4 copies need 64 GPUs at least" in widget.alt
    assert "<td>–</td>" in widget.table()


@pytest.mark.parametrize(
    ("slider", "name", "choices"),
    [
        ("GPUs", "gpus", GPUS), ("M = N = K", "size", SIZES), ("Copies", "copies", COPIES),
        ("Link, GB/s", "gbs", GBS),
    ],
)  # fmt: skip
def test_sliders_and_python_say_the_same(
    show: Opener, slider: str, name: str, choices: tuple[float, ...]
) -> None:
    widget = ManyGpus(51.0)
    page = show(widget)
    for place, value in enumerate(choices):
        page.get_by_role("slider", name=slider).fill(str(place))
        setattr(widget, name, value)
        expect(page.locator(".lab-verdict p").first).to_have_text(widget.words[0])
        expect(page.locator(".lab-verdict p").last).to_have_text(widget.words[1])
    assert overlapping_texts(page) == []
