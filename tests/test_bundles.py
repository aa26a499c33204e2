"""The bundles of the TypeScript: what is in them, and which constants come from Python."""

import gzip
import json
import re
import time
from pathlib import Path

import pytest

import sgemm_lab
from sgemm_lab import bundles, files, hardware, npm
from sgemm_lab.bundles import bundled
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.widgets import LabWidget

PACKAGE = Path(sgemm_lab.__file__).parent
TYPES_ALONE = re.compile(r"(?:(?!(?:export )?(?:async|class|const|function|let)\b).*\n)*")
EDITOR_LIMIT = 150_000
"""Bytes, compressed, that a reader who turns to an editor may have to wait for."""


def test_every_module_and_sheet_is_in_a_bundle() -> None:
    used = {*json.loads(bundles.text("inputs.json"))}
    there = {
        path.relative_to(PACKAGE).as_posix()
        for path in [*PACKAGE.rglob("*.ts"), *(PACKAGE / "widgets").rglob("*.css")]
        if not path.name.endswith(".d.ts") and not TYPES_ALONE.fullmatch(path.read_text("utf-8"))
    }
    assert len(used) > 180
    assert there - used == set()


def test_numbers_come_from_python(tmp_path: Path) -> None:
    entry = tmp_path / "main.ts"
    path = PACKAGE / "hardware.py"
    entry.write_text(f'import {{ WARP }} from "{path}";\nexport const found = WARP;\n')
    assert f"var WARP = {hardware.WARP};" in bundled(entry)


def test_a_source_that_cannot_be_bundled_is_named(tmp_path: Path) -> None:
    entry = tmp_path / "main.ts"
    entry.write_text('import { a } from "./nowhere.ts";\nexport const b = a;\n')
    with pytest.raises(MissingToolError, match=r'Could not resolve "\./nowhere\.ts"'):
        bundled(entry)


def test_a_missing_bundle_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "BUNDLES", tmp_path)
    with pytest.raises(LabError, match=r"pages/panel\.js is missing\. Build it with 'python -m"):
        bundles.text("pages/panel.js")


def test_the_editor_is_light_and_has_its_licences() -> None:
    text = bundles.text("pages/panel-code.js")
    assert 50_000 < len(gzip.compress(text.encode())) < EDITOR_LIMIT
    assert not re.search(r"\beval\(|new Function\(|https?://(?!www\.w3\.org/)", text)
    licences = bundles.text("pages/panel-code-LICENSES.txt")
    named = re.findall(r"^=+\n(\S+) (\S+)\n=+$", licences, re.M)
    assert licences.count("Permission is hereby granted") == len(named) > 10
    lock = npm.locked()
    for name, version in named:
        assert lock[f"node_modules/{name}"]["version"] == version
        assert lock[f"node_modules/{name}"]["license"] == "MIT"


def test_an_open_widget_follows_its_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    code = tmp_path / "edited.js"
    code.write_text("export default { render() { return 1; } };")
    widget = type("Edited", (LabWidget,), {"_esm": code, "__module__": "__main__"})()
    assert "return 1" in str(widget._esm)
    time.sleep(0.5)  # until the watch has begun
    code.write_text("export default { render() { return 2; } };")
    for _ in range(100):
        if "return 2" in str(widget._esm):
            return
        time.sleep(0.05)
    raise AssertionError("The widget does not follow its file.")
