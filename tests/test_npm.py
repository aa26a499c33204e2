"""The packages of npm: those of the lock file, in its versions."""

import json
from pathlib import Path

import pytest

from sgemm_lab import npm
from sgemm_lab.errors import MissingToolError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lock = {"packages": {"": {}, "node_modules/one": {"version": "2.0.0"}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    return tmp_path


def test_a_missing_package_is_named(folder: Path) -> None:
    with pytest.raises(MissingToolError, match=r"one is missing\. Install it with 'npm ci' in "):
        npm.require(folder)


def test_another_version_is_named(folder: Path) -> None:
    place = folder / "node_modules" / "one"
    place.mkdir(parents=True)
    (place / "package.json").write_text('{"version": "1.0.0"}')
    with pytest.raises(MissingToolError, match=r"one has version 1\.0\.0; version 2\.0\.0 is"):
        npm.require(folder)


def test_versions_are_pinned_with_their_hashes() -> None:
    for place, package in npm.locked().items():
        assert package["integrity"].startswith("sha512-"), place
