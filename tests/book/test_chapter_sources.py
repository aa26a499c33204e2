"""How a chapter is written: what it imports, how wide it is, and where it is named."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from sites import ROOT

from sgemm_lab import lab
from sgemm_lab.book.navigation import FIELD

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
WIDEST = 100
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"\{value\}`([^`]+)`")

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def cells(chapter: Path) -> list[str]:
    return [found[2] for found in _CELL.finditer(chapter.read_text(encoding="utf-8"))]


@each_chapter
def test_a_chapter_imports_the_lab_and_nothing_else(chapter: Path) -> None:
    imports = [
        ast.unparse(node)
        for cell in cells(chapter)
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert imports == (["from sgemm_lab import lab"] if cells(chapter) else [])


@each_chapter
def test_a_chapter_names_public_verbs_alone(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    code = "\n".join([*cells(chapter), *_VALUE.findall(text)])
    assert set(re.findall(r"\blab\.(\w+)", code)) <= set(lab.__all__)


@each_chapter
def test_lines_are_narrow_enough_to_edit(chapter: Path) -> None:
    wide = [
        f"{number}: {line}"
        for number, line in enumerate(chapter.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDEST and not line.startswith("|") and "://" not in line
    ]
    assert wide == [], f"write lines of at most {WIDEST} columns"


@each_chapter
def test_front_matter_says_what_the_page_changes_and_how_it_runs(chapter: Path) -> None:
    front = yaml.safe_load(chapter.read_text(encoding="utf-8").split("---\n")[1])
    runs = bool(cells(chapter))
    expected = {FIELD, *(("file_format", "kernelspec") if runs else ())}
    assert set(front) - {"gpu"} == expected
    assert front.get("gpu", True) in (True, False)


@each_chapter
def test_no_cell_shows_code_that_tells_nothing(chapter: Path) -> None:
    """A bare name, or the call that prints a listing, means nothing to who reads on the web."""
    shown = [
        found[2].strip()
        for found in _CELL.finditer(chapter.read_text(encoding="utf-8"))
        if not {"remove-input", "remove-cell"} & set(re.findall(r"[\w-]+", found[1]))
    ]
    bare = re.compile(r"\w+|lab\.show\([^\n]*\)")
    assert [code for code in shown if bare.fullmatch(code)] == []
