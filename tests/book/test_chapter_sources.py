"""How a chapter is written: what it imports, how wide it is, and where it is named."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from sites import ROOT

from sgemm_lab import lab
from sgemm_lab.book.share_cards import FIELD

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)
_FOLDED = re.compile(r"^(:{3,})\{(?:dropdown|solution)\}.*?^\1$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
MOST_WORDS = 1500
"""Of a page, outside its folds, its cells and its pictures."""
_VALUE = re.compile(r"\{value\}`([^`]+)`")

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)


def cells(chapter: Path) -> list[str]:
    return [found[2] for found in _CELL.finditer(chapter.read_text(encoding="utf-8"))]


@each_chapter
def test_a_chapter_names_public_verbs_alone(chapter: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    code = "\n".join([*cells(chapter), *_VALUE.findall(text)])
    assert set(re.findall(r"\blab\.(\w+)", code)) <= set(lab.__all__)


@each_chapter
def test_front_matter_says_what_the_page_changes_and_how_it_runs(chapter: Path) -> None:
    front = yaml.safe_load(chapter.read_text(encoding="utf-8").split("---\n")[1])
    runs = bool(cells(chapter))
    expected = {FIELD, *(("file_format", "kernelspec") if runs else ())}
    assert set(front) - {"gpu"} == expected
    assert front.get("gpu", True) in (True, False)
    assert 15 <= len(front[FIELD]) <= 90
    assert not front[FIELD].endswith(".")


def prose(chapter: Path) -> list[str]:
    """Words that a reader meets without opening anything: no code, folds, solutions, settings."""
    text = chapter.read_text(encoding="utf-8").split("---\n", 2)[2]
    for hidden in (_FENCE, _FOLDED):
        text = hidden.sub("", text)
    shown = [line for line in text.splitlines() if not line.startswith(":")]
    return _VALUE.sub("value", "\n".join(shown)).split()


@each_chapter
def test_a_page_is_short(chapter: Path) -> None:
    assert len(prose(chapter)) <= MOST_WORDS


def test_a_term_is_defined_once() -> None:
    text = (ROOT / "chapters" / "A3_words.md").read_text(encoding="utf-8")
    entries = re.findall(r"^```\{glossary\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for entry in entries for line in entry.splitlines() if line[:1].strip()]
    terms = [term.lower() for line in lines for term in line.split(", ")]
    assert len(terms) > 80
    assert sorted(set(terms)) == sorted(terms)


@each_chapter
def test_nothing_that_a_cell_draws_is_lost(chapter: Path) -> None:
    """A notebook shows the value of a cell's last statement alone."""
    for cell in cells(chapter):
        *before, _ = ast.parse(cell).body
        values = [ast.unparse(one) for one in before if isinstance(one, ast.Expr)]
        assert [one for one in values if one.startswith("lab.")] == []
