"""How fast widgets draw and answer, control by control. Run by ``make bench``.

A time is that of the page's thread for one use of a control: scripts, styles and layout.
"""

import pytest
from every_widget import SAMPLES, of_book
from widget_page import Opener

FIRST_DRAW_MS = 150
REDRAW_MS = 16
MEDIANS = """async () => {
  const found = [];
  for (const one of document.querySelectorAll("#widget :is(button, select, input)")) {
    if (!one.offsetParent || one.disabled) continue;
    const times = [];
    for (let i = 0; i < 40 && one.isConnected && !one.disabled; i += 1) {
      const start = performance.now();
      if (one.matches("select")) one.selectedIndex = i % one.options.length;
      if (one.matches("[type=range]")) one.value = i % 2 ? one.max : one.min;
      const events = one.matches("select, [type=range], [type=number]") ? ["input", "change"] : [];
      for (const name of events) one.dispatchEvent(new Event(name, { bubbles: true }));
      if (!events.length) one.click();
      await null;
      document.querySelector("#widget").getBoundingClientRect();
      times.push(performance.now() - start);
      await new Promise(requestAnimationFrame);
    }
    const name = one.ariaLabel || one.closest("label")?.innerText || one.innerText || one.type;
    found.push([name, times.sort((a, b) => a - b)[times.length >> 1]]);
  }
  return found;
}"""


@pytest.mark.bench
@pytest.mark.parametrize("name", SAMPLES)
def test_it_draws_at_once_and_answers_within_a_frame(show: Opener, name: str) -> None:
    page = show(of_book(name))
    first = page.evaluate("window.firstDraw")
    medians = page.evaluate(MEDIANS)
    print(f"\n{name}: first draw {first:.0f} ms")
    for control, median in medians:
        print(f"  {control:50}{median:8.1f} ms")
    assert medians
    assert first <= FIRST_DRAW_MS
    assert [control for control, median in medians if median > REDRAW_MS] == []
