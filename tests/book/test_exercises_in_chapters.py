"""Chapters and exercises agree, nothing stands twice, and notebooks have a cell for each."""

import ast
import re
from pathlib import Path

import pytest
from sites import ROOT

from sgemm_lab.book.exercises import ExerciseDirective, Written, answer_lines, parts
from sgemm_lab.errors import LabError
from sgemm_lab.exercises import (
    CHOICES,
    Choice,
    Estimate,
    Exercise,
    Found,
    Lines,
    Question,
    exercises,
    find_exercise,
    find_prediction,
    predictions,
)
from sgemm_lab.lab.exercise import machine_of_records

CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.md"))


def boxes(markdown: str) -> list[Written]:
    return [part for part in parts(markdown) if isinstance(part, Written)]


WRITTEN = {chapter: boxes(chapter.read_text(encoding="utf-8")) for chapter in CHAPTERS}
ALL = [written for found in WRITTEN.values() for written in found]
EACH = pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.name)


def written(name: str) -> Written:
    (found,) = [one for one in ALL if one.name == name]
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_has_its_exercises_in_order_and_no_others(chapter: Path) -> None:
    number = str(int(chapter.stem[:2]))
    expected = [e.name for e in exercises() if e.name.partition(".")[0] == number]
    assert [w.name for w in WRITTEN[chapter] if w.kind == "exercise"] == expected


def test_every_prediction_is_asked_for_once() -> None:
    asked = [one.name for one in ALL if one.kind == "predict"]
    assert sorted(asked) == sorted(one.name for one in predictions())


@EACH
def test_what_the_module_holds_does_not_stand_in_the_chapter_again(exercise: Exercise) -> None:
    found = written(exercise.name)
    assert found.title.strip()
    assert found.question
    assert found.solution
    text = "\n".join([*found.question, *found.solution])
    if isinstance(exercise, Lines):
        for line in {*exercise.start.splitlines(), *exercise.right_lines.splitlines()}:
            assert len(line.strip()) < 20 or line.strip() not in text
    else:
        (chapter,) = [path for path in CHAPTERS if found in WRITTEN[path]]
        assert f'lab.exercise("{exercise.name}"' not in chapter.read_text(encoding="utf-8")


@EACH
def test_solution_carries_the_lines_or_the_number(exercise: Exercise) -> None:
    before, source = answer_lines(exercise)
    text = "\n".join(before)
    if isinstance(exercise, Lines):
        assert "```cuda" in text
        code = "\n".join(before).partition("```cuda\n")[2].rpartition("\n```")[0]
        assert code.split() == exercise.right_lines.split()
        return
    assert isinstance(exercise, Question)
    assert re.search(r"\d", text), "a number that was counted, measured or worked out"
    kind = exercise.judging(machine_of_records())["kind"]
    assert bool(source) == (kind != "number"), "what was found says where"


@pytest.mark.parametrize("found", ALL, ids=lambda found: found.name)
def test_cell_of_a_notebook_holds_the_start_and_no_answer(found: Written) -> None:
    exercise: Exercise = (
        find_exercise(found.name) if found.kind == "exercise" else find_prediction(found.name)
    )
    assignment, call = ast.parse(found.cell).body
    assert isinstance(assignment, ast.Assign)
    assert isinstance(call, ast.Expr)
    variable = ast.unparse(assignment.targets[0])
    assert ast.unparse(call) == f"lab.{found.kind}('{found.name}', {variable})"
    value = ast.literal_eval(assignment.value)
    assert value == (f"\n{exercise.start}\n" if isinstance(exercise, Lines) else None)
    assert len(found.cell.splitlines()) <= 10
    if isinstance(exercise, Choice):
        assert all(f'"{word}"' in found.cell for word in CHOICES)
    if isinstance(exercise, (Choice, Estimate)):
        assert exercise.allows in found.cell


BETWEEN = """\
a

:::{predict} window-gain
How?
:::

b
::::{exercise} 2.1 T
Q
:::{solution}
S
:::
::::
c"""


def test_text_between_exercises_stays_where_it_is() -> None:
    assert [part for part in parts(BETWEEN) if isinstance(part, str)] == ["a\n", "\nb", "c"]
    predict, exercise = boxes(BETWEEN)
    assert vars(predict) == {
        "kind": "predict", "name": "window-gain", "title": "", "question": ["How?"], "solution": [],
    }  # fmt: skip
    assert vars(exercise) == {
        "kind": "exercise", "name": "2.1", "title": "T", "question": ["Q"], "solution": ["S"],
    }  # fmt: skip


def test_what_nobody_has_measured_yet_is_said_in_place_of_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(_: object) -> Found:
        raise LabError("No record has it yet.")

    exercise = Estimate(name="2.1", found=unknown)
    directive = object.__new__(ExerciseDirective)
    place, judging = directive._place(exercise)
    assert place.astext() == '<p class="lab-go-on">No record has it yet.</p>'
    assert judging.astext() == ""
    monkeypatch.setattr("sgemm_lab.book.exercises.find_exercise", lambda _: exercise)
    made = Written("exercise", "2.1", "T", ["Q"], ["So it is."])
    assert "*No record has it yet.*" in made.solved
