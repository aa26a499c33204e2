"""Exercises and predictions of a chapter: as boxes that answer on a page, as cells in a notebook.

A chapter writes title, text and solution; what judges an answer stands in
:mod:`sgemm_lab.exercises` under the same name, and comes from there::

    ::::{exercise} 2.1 Count the copies
    How many floats does one block copy into shared memory?

    :::{solution}
    Two strips, one of $A$ and one of $B$.
    :::
    ::::

    :::{predict} tiled-speed
    How many GFLOP/s will `tiled` make at $4096^3$?
    :::

The solution begins with the answer, as counted, measured or worked out. On a page the place for an
answer is hidden until ``exercises.js`` runs; without scripts and on paper there are the text and
the solution.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from textwrap import dedent
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sgemm_lab.book.code_editor import code_field
from sgemm_lab.book.collecting import gathered
from sgemm_lab.book.plain_markdown import directives
from sgemm_lab.book.repository import notebook_ways
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.exercises import (
    CHOICES,
    Choice,
    Exercise,
    Lines,
    Question,
    find_exercise,
    find_prediction,
)
from sgemm_lab.exercises.model import JudgingData
from sgemm_lab.lab.each_gpu import by_gpu
from sgemm_lab.lab.exercise import machine_of_records

KIND = "exercises"
"""What a page's boxes are gathered under: the name of an exercise, "" for a prediction."""
_WHERE = "A new one stands in sgemm_lab/exercises/chapterN.toml."
_AFTER_BOOK = 900
"""Where scripts stand that need what ``book.js`` found out: Sphinx gives that one 800."""
_LONGEST = 16
"""Lines of code that an exercise's editor shows at once; of more it scrolls."""


# Pages


class Box(nodes.General, nodes.Element):
    """An exercise or a prediction on a page."""


class SolutionBox(nodes.General, nodes.Element):
    """The solution of an exercise: closed until it is opened."""


class ExerciseDirective(SphinxDirective):
    """``{exercise} 2.1 Title``: the question, and in it ``{solution}``."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Set the question, the place for its answer and the solution into a box."""
        name, _, title = self.arguments[0].partition(" ")
        try:
            exercise = find_exercise(name)
        except LabError as problem:
            raise self.error(f"{problem} {_WHERE}") from None
        content = self._parsed(list(self.content))
        solutions = [node for node in content if isinstance(node, SolutionBox)]
        if len(solutions) != 1:
            raise self.error(f"Exercise {name} needs one {{solution}} inside it.")
        question = [node for node in content if node not in solutions]
        if isinstance(exercise, Lines):
            question.append(_cuda(exercise.start, "lab-start"))
        place, judging = self._place(exercise)
        solution = self._solution(exercise, solutions[0])
        content = [_raw(_heading(name, title)), *question, place, solution, judging]
        kernel = {"data-kernel": exercise.kernel} if isinstance(exercise, Lines) else {}
        return [_box("exercise", name, content, name, **kernel)]

    def _parsed(self, lines: list[str]) -> list[nodes.Node]:
        whole = nodes.Element()
        self.state.nested_parse(StringList(lines), self.content_offset, whole)
        return list(whole.children)

    def _solution(self, exercise: Exercise, written: SolutionBox) -> SolutionBox:
        """Put the answer before the author's words, and where it comes from behind them."""
        before, source = answer_lines(exercise)
        end = [nodes.paragraph("", source, classes=["lab-provenance"])] if source else []
        return SolutionBox("", *self._parsed(before), *written.children, *end)

    def _place(self, exercise: Exercise) -> tuple[nodes.raw, nodes.raw]:
        """Return the place for the answer, and the data that judge it."""
        if isinstance(exercise, Lines):
            html, data = self._way_on() + lines_form(exercise), lines_data(exercise)
        else:
            assert isinstance(exercise, Question)
            try:
                judging = question_data(exercise)
            except LabError as problem:
                return _raw(f'<p class="lab-go-on">{escape(str(problem))}</p>'), _raw("")
            html = answer_form(exercise, judging)
            data = {**judging, "unit": exercise.unit, "others": _on_other_gpus(exercise)}
        body = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
        return _raw(html), _raw(
            f'<script type="application/json" data-lab="judging">{body}</script>'
        )

    def _way_on(self) -> str:
        """Say in one line where the reader's lines can be tried."""
        chapter = Path(self.env.docname).name
        ways = notebook_ways(self.env.docname)
        return (
            '<p class="lab-go-on">On the web this page runs your lines. Otherwise they are judged '
            f"{', or '.join(ways)}. In a copy of the book, run <code>make notebooks</code> and "
            f"<code>jupyter lab notebooks/{chapter}.ipynb</code>.</p>"
        )


class PredictDirective(ExerciseDirective):
    """``{predict} name``: a question before the result, with a place for its answer.

    On a page the rest of its section waits until the reader has answered or asked for the result,
    or the next section where nothing follows; and so do later texts with the answer's numbers.
    """

    def run(self) -> list[nodes.Node]:
        """Set the question and the place for its answer into a box."""
        name = self.arguments[0].strip()
        try:
            prediction = find_prediction(name)
        except LabError as problem:
            raise self.error(f"{problem} {_WHERE}") from None
        head = _raw(f'<p class="lab-exercise-title" id="{_anchor(name)}-title">Predict</p>')
        content = [head, *self._parsed(list(self.content)), *self._place(prediction)]
        return [_box("prediction", name, content, "")]


class SolutionDirective(SphinxDirective):
    """``{solution}``: the words of an exercise's solution; what it gives, the book adds."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the words."""
        box = SolutionBox()
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def add_scripts(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], _doctree: object
) -> None:
    """Let pages with a box load the script."""
    boxes = gathered(app.env, KIND)
    app.add_css_file("exercises.css")
    if page in boxes:
        app.add_js_file("exercises.js", _AFTER_BOOK, loading_method="defer")
    if any(isinstance(find_exercise(name), Lines) for name in boxes.get(page, ()) if name):
        app.add_css_file("panel.css")


def _box(kind: str, name: str, content: list[nodes.Node], listed: str, **attributes: str) -> Box:
    box = Box("", *content, **{KIND: listed})
    box["attributes"] = {
        "data-lab": kind,
        "data-name": name,
        "id": _anchor(name),
        "aria-labelledby": f"{_anchor(name)}-title",
        **attributes,
    }
    return box


def visit_box(translator: Any, node: Box) -> None:
    """Open a box."""
    attributes = "".join(f' {key}="{escape(str(v))}"' for key, v in node["attributes"].items())
    translator.body.append(f'<div class="lab-exercise" role="group"{attributes}>\n')


def depart_box(translator: Any, _node: Box) -> None:
    """Close a box."""
    translator.body.append("</div>\n")


def visit_solution(translator: Any, _node: SolutionBox) -> None:
    """Open a solution."""
    translator.body.append(
        '<details class="lab-solution" data-lab="solution"><summary>Solution</summary>\n<div>\n'
    )


def depart_solution(translator: Any, _node: SolutionBox) -> None:
    """Close a solution."""
    translator.body.append("</div>\n</details>\n")


def answer_form(exercise: Question, data: JudgingData) -> str:
    """Return the HTML of the place for an answer: hidden, because without a script it is dead."""
    name = escape(exercise.name)
    if data["kind"] == "choice":
        fields = "".join(
            f'<label><input type="radio" name="{name}" value="{word}" data-lab="answer">'
            f"<span>{said}</span></label>"
            for word, said in CHOICES.items()
        )
        fields = f'<fieldset><legend class="lab-unseen">Your answer</legend>{fields}</fieldset>'
    else:
        unit = f"<span>{escape(exercise.unit)}</span>" if exercise.unit else ""
        fields = (
            f'<label><span class="lab-unseen">Your answer</span><input type="text" name="{name}" '
            f'inputmode="decimal" autocomplete="off" spellcheck="false" data-lab="answer">'
            f"{unit}</label>"
        )
    notes = [exercise.allows]
    if data["kind"] in ("choice", "estimate") and data["source"]:
        source = data["source"].split(",")[0]  # the GPU, without the date and versions
        notes.append(f'<span data-lab="source">{source}.</span>')
    note = " ".join(filter(None, notes))
    allows = f'<p class="lab-allows">{note}</p>' if note else ""
    return (
        f'<form class="lab-answer" data-lab="form" hidden>{fields}'
        f'<button type="submit" data-lab="judge">Check</button>{allows}</form>'
        '<div class="lab-said" data-lab="verdict" role="status"></div>'
    )


def lines_form(exercise: Lines) -> str:
    """Return the HTML of the editor for the reader's lines: hidden, as a form without a script."""
    label = f"Your lines for exercise {exercise.name}"
    return (
        '<div class="lab-bench" data-lab="form" hidden><div class="lab-bench-bar">'
        f'<p class="lab-bench-title">Your lines of <b>{escape(exercise.kernel)}</b></p>'
        '<button type="button" class="lab-run" data-lab="run">Run</button>'
        '<button type="button" data-lab="reset" disabled>Reset</button></div>'
        f"{code_field(label, exercise.start, 1, _LONGEST)}</div>"
        '<div class="lab-said" data-lab="verdict" role="status"></div>'
    )


def lines_files(name: str) -> dict[str, str]:
    """Return the script that an exercise of lines loads when it is first run, by its file's name.

    For other exercises there is none.
    """
    exercise = find_exercise(name)
    if not isinstance(exercise, Lines):
        return {}
    data = json.dumps(exercise.data(), ensure_ascii=False)
    return {f"exercise-{name}.js": f'(window.labLines ??= {{}})["{name}"] = {data};\n'}


def lines_kernels(name: str) -> set[str]:
    """Return the names of the kernels whose PTX judging an exercise may need."""
    exercise = find_exercise(name)
    if not isinstance(exercise, Lines):
        return set()
    return {exercise.kernel, *exercise.compared}


def lines_data(exercise: Lines) -> dict[str, object]:
    """Return what a page needs to take the reader's lines of a kernel."""
    before = load_kernel(exercise.kernel).source.partition(exercise.place)[0]
    return {
        "kind": "lines",
        "kernel": exercise.kernel,
        "place": exercise.place,
        "first": before.count("\n") + 1,
        "start": exercise.start,
    }


@cache
def question_data(exercise: Question) -> JudgingData:
    """Return what judges an answer on a page: measurements are the book's records."""
    return exercise.judging(machine_of_records())


def _on_other_gpus(exercise: Question) -> dict[str, JudgingData]:
    """Return what judges an answer on each other recorded GPU, by the GPU's name.

    None where the answer is not a measurement, or of one GPU alone.
    """
    source = question_data(exercise).get("source")
    found = by_gpu(lambda: exercise.judging(machine_of_records()))
    return {gpu: data for gpu, data in found if data.get("source") != source}


@cache
def answer_lines(exercise: Exercise) -> tuple[list[str], str]:
    """Return the answer as lines of Markdown, and where it comes from if it was measured.

    Where it was not, there are no lines, but the sentence that says so.
    """
    if isinstance(exercise, Lines):
        return ["```cuda", *dedent(exercise.right_lines).splitlines(), "```", ""], ""
    assert isinstance(exercise, Question)
    try:
        answer = exercise.correct_answer(machine_of_records())
    except LabError as problem:
        return [], str(problem)
    return [answer.says, ""], answer.source


def _heading(name: str, title: str) -> str:
    shown = re.sub("`([^`]+)`", r"<code>\1</code>", escape(title, quote=False))
    anchor = _anchor(name)
    return f'<h3 class="lab-exercise-title" id="{anchor}-title">{escape(name)} {shown}</h3>'


def _anchor(name: str) -> str:
    return f"answer-{name.replace('.', '-')}"


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def _cuda(code: str, name: str) -> nodes.container:
    shown = dedent(code)
    block = nodes.literal_block(shown, shown, language="cuda")
    return nodes.container("", block, classes=[name])


# Notebooks


@dataclass(frozen=True)
class Written:
    """An exercise or a prediction, as a chapter's Markdown has it."""

    kind: str
    """ "exercise" or "predict"."""
    name: str
    title: str
    question: list[str]
    solution: list[str]

    @property
    def text(self) -> str:
        """The question in a box."""
        head = f"{self.name} {self.title}" if self.kind == "exercise" else "Predict"
        return "\n".join([f"::::::{{admonition}} {head}", *self.question, "::::::"])

    @property
    def cell(self) -> str:
        """The cell that takes the answer."""
        found = self._found
        if isinstance(found, Lines):
            return f'lines = """\n{found.start}\n"""\nlab.exercise("{self.name}", lines)'
        assert isinstance(found, Question)
        words = ", ".join(f'"{word}"' for word in CHOICES)
        notes = [f"{words}." if isinstance(found, Choice) else "", found.allows]
        choose = f"  # {' '.join(note for note in notes if note)}" if any(notes) else ""
        return f'answer = None{choose}\nlab.{self.kind}("{self.name}", answer)'

    @property
    def solved(self) -> str:
        """The solution, folded; nothing for a prediction, whose cell tells it."""
        if self.kind == "predict":
            return ""
        before, source = answer_lines(self._found)
        end = ["", f"*{source}*"] if source else []
        return "\n".join(["::::::{dropdown} Solution", *before, *self.solution, *end, "::::::"])

    @property
    def _found(self) -> Exercise:
        return find_exercise(self.name) if self.kind == "exercise" else find_prediction(self.name)


def parts(markdown: str) -> Iterator[str | Written]:
    """Cut a chapter's Markdown where exercises and predictions stand."""
    lines, end = markdown.splitlines(), 0
    for kind, argument, (first, after), content in directives(markdown):
        if kind in ("exercise", "predict"):
            yield "\n".join(lines[end:first])
            name, _, title = argument.partition(" ")
            question, solution = content.splitlines(), ""
            for inner, _, place, text in directives(content):
                if inner == "solution":
                    question[slice(*place)], solution = [], text
            yield Written(kind, name, title, question, solution.splitlines())
            end = after
    yield "\n".join(lines[end:])
