"""Little's law: bytes on their way over the time that they take."""

import pytest
from flight_samples import DRAM, L2
from playwright.sync_api import Page, expect
from widget_page import Opener

from sgemm_lab import lab
from sgemm_lab.widgets import InFlight
from sgemm_lab.widgets.in_flight import BYTES, THREADS


@pytest.fixture
def page(show: Opener) -> Page:
    return show(InFlight([L2, DRAM]))


def test_bytes_per_clock_are_bytes_on_their_way_over_the_latency() -> None:
    widget = InFlight([L2, DRAM], threads=1024, bytes=8)
    assert [widget.arrives(source) for source in widget.sources] == [32, 12.8]
    assert "80 % of the 16 that DRAM can give. Latency holds it back." in widget.alt
    widget.bytes = 16
    assert "its bandwidth holds it back" in widget.alt
    assert "<td>25.6</td>" in widget.table()


def test_it_takes_what_the_record_measured() -> None:
    widget, card = lab.in_flight(), lab.card()
    assert [source["id"] for source in widget.sources] == ["l1", "l2", "dram"]
    dram = widget.sources[-1]
    assert dram["latency"] == card.latency["dram"]
    clocks = card.device.sms * card.clock_mhz / 1e3
    assert dram["most"] * clocks == pytest.approx(card.bandwidth["dram"])
    assert widget.arrives(dram) == 2048 * 4 / card.latency["dram"]


def test_the_sliders_change_what_arrives_and_both_languages_say_the_same(page: Page) -> None:
    widget = InFlight([L2, DRAM])
    verdict = page.locator(".lab-verdict")
    threads = page.get_by_role("slider", name="Threads on an SM")
    each = page.get_by_role("slider", name="Bytes on their way for each")
    for place, many in enumerate(THREADS):
        threads.fill(str(place))
        for step, size in enumerate(BYTES):
            each.fill(str(step))
            widget.threads, widget.bytes = many, size
            expect(verdict).to_have_text(widget.words)
    full = page.locator(".lab-fill").nth(1)
    assert full.evaluate("node => node.style.width") == "100%"
