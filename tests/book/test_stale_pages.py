"""Pages go stale when what their cells run has changed, and after a warning."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sites import ROOT

from sgemm_lab.book import stale_pages


def test_a_changed_input_has_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "tiled.cu"
    monkeypatch.setattr(stale_pages, "inputs", lambda: iter([kernel]))
    found = []
    for text in ("1", "2", "1"):
        kernel.write_text(text)
        found.append(stale_pages.fingerprint())
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("warnings", [0, 1])
def test_what_was_read_is_forgotten_after_a_warning(tmp_path: Path, warnings: int) -> None:
    kept = tmp_path / "environment.pickle"
    kept.touch()
    app: Any = SimpleNamespace(doctreedir=tmp_path, _warncount=warnings)
    stale_pages.forget_warnings(app, None)
    assert kept.exists() == (not warnings)


def test_everything_that_cells_run_is_watched() -> None:
    watched = {path.relative_to(ROOT).as_posix() for path in stale_pages.inputs()}
    kinds = {f"{name.split('/')[0]}/*{Path(name).suffix}" for name in watched}
    assert {"kernels/*.cu", "records/*.json", "src/*.py", "src/*.ts", "src/*.css"} <= kinds
