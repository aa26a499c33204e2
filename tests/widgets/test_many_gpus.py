"""Very many GPUs on paper: what it says, and sliders that stay within what they offer."""

import pytest
from playwright.sync_api import expect
from widget_page import Opener, overlapping_texts

from sgemm_lab.widgets import ManyGpus
from sgemm_lab.widgets.many_gpus import COPIES, GBS, GPUS, SIZES


def test_copies_pay_where_the_link_decides(show: Opener) -> None:
    widget = ManyGpus(51.0)
    expect(show(widget).locator(".lab-verdict")).to_contain_text("the link decides")
    plain, copies = (widget.reckoned(1024, number).efficiency for number in (1, 4))
    assert copies > 1.4 * plain
    widget.size = 262144
    plain, copies = (widget.reckoned(1024, number).efficiency for number in (1, 4))
    assert copies < plain
    expect(show(widget).locator(".lab-verdict")).to_contain_text("the transfers are hidden")


def test_too_few_gpus_for_the_copies_are_named(show: Opener) -> None:
    widget = ManyGpus(51.0, gpus=16, copies=4)
    expect(show(widget).locator(".lab-verdict")).to_contain_text("4 copies need 64 GPUs at least")
    assert "<td>–</td>" in widget.table()


@pytest.mark.parametrize(
    ("slider", "name", "choices"),
    [
        ("GPUs", "gpus", GPUS), ("M = N = K", "size", SIZES), ("Copies", "copies", COPIES),
        ("Link, GB/s", "gbs", GBS),
    ],
)  # fmt: skip
def test_sliders_set_the_choices(
    show: Opener, slider: str, name: str, choices: tuple[float, ...]
) -> None:
    page = show(ManyGpus(51.0))
    for place, value in enumerate(choices):
        page.get_by_role("slider", name=slider).fill(str(place))
        assert page.evaluate("(name) => window.model.get(name)", name) == value
    assert overlapping_texts(page) == []
