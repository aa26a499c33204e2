"""Lists that must agree: chapters, kernels, table of contents, pins."""

import re
import tomllib
from importlib.metadata import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from sites import ROOT

from sgemm_lab.book.plain_markdown import SYNTAX

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))


def requirements(name: str) -> list[str]:
    lines = (ROOT / name).read_text().splitlines()
    pins = [line.partition("#")[0].strip() for line in lines]
    return [pin for pin in pins if pin not in ("", "-e .")]


def test_table_of_contents_lists_every_chapter_once_and_in_order() -> None:
    entries = [entry for part in TOC["parts"] for entry in part["chapters"]]
    listed = [TOC["root"], *(entry["file"] for entry in entries)]
    assert listed == [f"chapters/{path.stem}" for path in CHAPTERS]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-test.txt"])
def test_requirements_are_pinned_exactly(name: str) -> None:
    pins = requirements(name)
    assert pins
    assert [pin for pin in pins if not re.match(r"^[\w.-]+==[\w.]+(;.+)?$", pin)] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-test.txt"])
def test_every_pin_takes_the_first_release_of_each_python_that_the_book_names(name: str) -> None:
    """Systems keep theirs for years: Debian 12 has 3.11.2."""
    refused = []
    for pin in map(Requirement, requirements(name)):
        if pin.marker is None or pin.marker.evaluate():
            needs = SpecifierSet(metadata(pin.name).json.get("requires_python", ""))
            refused += [(pin.name, v) for v in ("3.11.0", "3.12.0", "3.13.0") if v not in needs]
    assert refused == []


def test_package_asks_for_ranges_and_never_for_cupy() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all(">=" in need for need in project["dependencies"])
    assert not [need for need in project["dependencies"] if "cupy" in need]


def test_pages_and_notebooks_read_the_same_markdown() -> None:
    assert set(CONFIG["parse"]["myst_enable_extensions"]) == SYNTAX.enable_extensions
