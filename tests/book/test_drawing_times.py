"""How soon the widget nearest to the reader is drawn. Run by ``make bench``."""

import statistics
from typing import Any

import pytest
from sites import Site
from test_book_pages import CHAPTERS

FIRST_DRAW_MS = 150
OPENED = 3
# When each widget came alive, in ms since the page began to load.
WATCH = """
window.alive = new Map();
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.classList?.contains("is-live") && !window.alive.has(target)) {
      window.alive.set(target, performance.now());
    }
  }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["class"] });
"""
# How long after the page was complete the first and the last widget came alive, in ms.
WAITED = """async () => {
  await window.labWidgetsDrawn;
  const ready = performance.getEntriesByType("navigation")[0].loadEventEnd;
  const times = [...window.alive.values()];
  return [times[0] - ready, times.at(-1) - ready];
}"""
SECTIONS = """[...new Set([...document.querySelectorAll(".lab-widget")]
  .map((widget) => widget.closest("section[id]").id))]"""


@pytest.mark.bench
def test_the_nearest_widget_is_drawn_at_once(book: Site, contexts: Any) -> None:
    print(f"\n{'ms from the page being complete to':60}{'nearest widget':>16}{'last':>8}")
    slow = []
    for chapter in CHAPTERS:
        sections = contexts().goto(book, chapter).page.evaluate(SECTIONS)
        for section in sections:
            first, last = drawn_after(book, contexts, f"{chapter}#{section}")
            print(f"  {f'{chapter}#{section}'[:58]:58}{first:16.0f}{last:8.0f}", flush=True)
            if first > FIRST_DRAW_MS:
                slow.append(section)
    assert slow == [], f"above {FIRST_DRAW_MS} ms"


def drawn_after(book: Site, contexts: Any, address: str) -> tuple[float, float]:
    """Return the medians of some visits, in ms."""
    waited = []
    for _ in range(OPENED):
        page = contexts().page
        page.add_init_script(WATCH)
        page.goto(book.url(address), wait_until="load")
        waited.append(page.evaluate(WAITED))
        page.close()
    first, last = zip(*waited, strict=True)
    return statistics.median(first), statistics.median(last)
