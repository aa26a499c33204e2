"""The script with CodeMirror: light enough, licensed, and gone without where it cannot be had."""

import gzip
import json
import re
from pathlib import Path

import pytest
from compiler_here import code_editor

from sgemm_lab import npm
from sgemm_lab.book import panels
from sgemm_lab.book.codemirror import package
from sgemm_lab.errors import MissingToolError

LIMIT = 150_000
"""Bytes, compressed, that a reader who turns to an editor may have to wait for."""


@pytest.fixture(scope="module", autouse=True)
def _fetched() -> None:
    code_editor()


def test_the_script_is_light_and_plain() -> None:
    text = package.script()
    assert 50_000 < len(gzip.compress(text.encode())) < LIMIT
    assert not re.search(r"\beval\(|new Function\(|https?://(?!www\.w3\.org/)", text)


def test_each_package_that_is_joined_has_its_licence_beside_the_script() -> None:
    files = panels.site_files([], {})
    licences = files["panel-code-LICENSES.txt"]
    assert files["panel-code.js"] == package.script()
    lock = json.loads((package.HERE / "package-lock.json").read_text())["packages"]
    joined = {place for place, one in lock.items() if place and not one.get("dev")}
    assert licences.count("Permission is hereby granted") == len(joined) > 10
    for place in joined:
        assert lock[place]["license"] == "MIT"
        assert f"\n{place.removeprefix('node_modules/')} {lock[place]['version']}\n" in licences


def test_where_the_packages_are_missing_the_editor_stays_a_text_area(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "package-lock.json").write_text((package.HERE / "package-lock.json").read_text())
    monkeypatch.setattr(package, "HERE", tmp_path)
    package.script.cache_clear()
    try:
        with pytest.raises(MissingToolError, match=r"@codemirror/.+ with 'npm ci'"):
            package.script()
        files = panels.site_files([], {})
    finally:
        package.script.cache_clear()
    assert files["panel-code.js"] == panels.WITHOUT_CODEMIRROR
    assert "panel-code-LICENSES.txt" not in files


def test_another_version_is_told(tmp_path: Path) -> None:
    lock = {"packages": {"": {}, "node_modules/one": {"version": "2.0.0"}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    folder = tmp_path / "node_modules" / "one"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"version": "1.0.0"}')
    with pytest.raises(MissingToolError, match=r"one, of the thing, is there in version 1\.0\.0"):
        npm.require(tmp_path, "the thing")
