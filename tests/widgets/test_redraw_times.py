"""How fast widgets draw and answer, control by control. Run by ``make bench``.

What counts is the time that the page's thread computes for one use of a control: scripts, styles,
layout and paint, up to the next frame. Other programs on the machine do not add to it. The last
column is the wall clock, from the page's performance timeline, without paint and without waiting.
"""

import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from every_widget import SAMPLES, of_book
from playwright.sync_api import Page
from widget_page import Opener

FIRST_DRAW_MS = 150
REDRAW_MS = 16
OPENED = 5
WARM_UP = 2
USES = 80
MOVES = {"reduced_motion": "no-preference"}
TIMING = (Path(__file__).parent / "timing.js").read_text()
KINDS = {
    "select": "choice",
    "input[type=range]": "slider",
    "input[type=number]": "field",
    "input:is([type=radio], [type=checkbox])": "switch",
    "button": "button",
    "[tabindex='0']:not(code, pre)": "keys",
    "svg.lab-chart": "mouse",
}


def p95(times: list[float]) -> float:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def thread_clock(page: Page) -> Callable[[], float]:
    """Return what reads how long the page's thread has computed, in ms."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")

    return read


def timed(page: Page, clock: Callable[[], float], use: str, *arguments: Any) -> tuple[float, float]:
    """Return computing time and wall time of one use; zeros where it is not possible now."""
    start = clock()
    wall = page.evaluate(f"(arguments) => window.{use}(...arguments)", list(arguments))
    return (0.0, 0.0) if wall is None else (clock() - start, wall)


@pytest.mark.bench
@pytest.mark.parametrize("name", SAMPLES)
def test_it_draws_at_once_and_answers_within_a_frame(show: Opener, name: str) -> None:
    widget = of_book(name)
    firsts = [show(widget, **MOVES).evaluate("window.firstDraw") for _ in range(OPENED)]
    page = show(widget, **MOVES)
    page.evaluate(TIMING)
    clock = thread_clock(page)
    idle = statistics.median(timed(page, clock, "useNothing")[0] for _ in range(USES))
    print(f"\n{name:52}{'n':>5}{'median ms':>11}{'p95 ms':>9}{'wall p95':>10}")
    print(f"  {'first draw':50}{OPENED:5}{'':11}{'':9}{p95(firsts):10.1f}", flush=True)
    controls = page.evaluate("window.controls()")
    assert controls
    slow = []
    for kind, control in controls:
        uses = [timed(page, clock, "useControl", kind, control, i) for i in range(WARM_UP + USES)]
        uses = [use for use in uses[WARM_UP:] if use[1]]
        if not uses:
            continue
        busy, wall = ([use[i] for use in uses] for i in (0, 1))
        busy = [time - idle for time in busy]
        row = f"{KINDS[kind]} · {control}"
        print(
            f"  {row:50}{len(uses):5}{statistics.median(busy):11.1f}{p95(busy):9.1f}"
            f"{p95(wall):10.1f}",
            flush=True,
        )
        if p95(busy) > REDRAW_MS:
            slow.append(row)
    assert statistics.median(firsts) <= FIRST_DRAW_MS
    assert slow == [], f"above {REDRAW_MS} ms"
