"""Things that are each tried in one way of several, in turn; with ``-m whole`` in all ways."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pytest

TODAY = date.today().toordinal()
"""For ``sampled(every, first=TODAY)``: after ``every`` days each case has run."""

TAKES_TURNS = pytest.mark.sampled(every=7, first=TODAY, of="module")
"""For slow modules: a seventh of the tests each day, and with ``-m whole`` the others."""


def in_turn(names: Iterable[str], ways: Sequence[tuple[Any, ...]], *, every: int = 1) -> list[Any]:
    """Return parameters of a test: a name and a way, both chosen anew each day.

    Args:
        names: what is tried, each the beginning of a case's name.
        ways: of each the first element names it.
        every: one name of so many is tried, and the others with ``-m whole`` alone.
    """
    return [
        pytest.param(
            name,
            *way,
            id=f"{name}-{way[0]}",
            marks=[]
            if (number - TODAY) % every == 0 and (number + TODAY // every) % len(ways) == turn
            else [pytest.mark.whole],
        )
        for number, name in enumerate(names)
        for turn, way in enumerate(ways)
    ]
