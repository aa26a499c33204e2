"""Pages go stale when what their cells run has changed, and at no other time."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sites import ROOT

from sgemm_lab.book import stale_pages


class App(SimpleNamespace):
    """A Sphinx of two pages, which builds with or without a warning or an error."""

    def build(self, warnings: int = 0, error: Exception | None = None) -> set[str]:
        """Build; return the pages that are read again."""
        ended: list[Any] = []
        self.connect = lambda _event, react: ended.append(react)
        env: Any = SimpleNamespace(found_docs={"a", "b"})
        app: Any = self
        found = stale_pages.pages_to_read_again(app, env, set(), set(), set())
        self._warncount = warnings
        for react in ended:
            react(app, error)
        return found


def test_a_failing_build_keeps_failing_and_a_good_one_stays_fresh_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "tiled.cu"
    kernel.write_text("1")
    monkeypatch.setattr(stale_pages, "inputs", lambda: iter([kernel]))
    app = App(doctreedir=tmp_path)
    every = {"a", "b"}
    assert app.build(warnings=1) == every
    assert app.build(error=ValueError()) == every, "A warning must not be forgotten."
    assert app.build() == every
    assert app.build() == set()
    kernel.write_text("2")
    assert app.build(warnings=1) == every
    assert app.build() == every


def test_everything_that_cells_run_is_watched() -> None:
    watched = {path.relative_to(ROOT).as_posix() for path in stale_pages.inputs()}
    kinds = {f"{name.split('/')[0]}/*{Path(name).suffix}" for name in watched}
    assert {"kernels/*.cu", "records/*.json", "src/*.py", "src/*.ts", "src/*.css"} <= kinds
