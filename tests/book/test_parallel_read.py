"""Pages are read in several processes, long ones first and apart."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.book import parallel_read


def dealt(names: list[str], processes: int) -> list[str]:
    """Return the pages as Sphinx gets them."""
    heard: dict[str, Any] = {}
    app: Any = SimpleNamespace(connect=heard.__setitem__)
    parallel_read.run_side_by_side(app)
    app.parallel = processes
    changed = list(names)
    heard["env-before-read-docs"](app, None, changed)
    return changed


@given(st.integers(0, 60), st.integers(1, 16))
def test_every_page_is_run_once(pages: int, processes: int) -> None:
    names = [f"{number:02}" for number in range(pages)]
    assert sorted(dealt(names, processes)) == names
