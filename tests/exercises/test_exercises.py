"""Exercises: right answers pass, wrong ones hear what is wrong, and pages and exercises agree."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from judged_answers import LINES, right_answer, wrong_answers
from turns import TODAY

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.exercises import (
    Choice,
    Estimate,
    Exercise,
    Judgement,
    Lines,
    Machine,
    exercises,
    find_exercise,
    find_prediction,
    lines,
    predictions,
)
from sgemm_lab.kernel import Kernel
from sgemm_lab.records.store import load_records, scores

EXERCISES = exercises()
PREDICTIONS = predictions()
RECORDED = [scores([record]) for record in load_records()]
"""What the records have, that of the chapters first; their answers are of it."""
ALL = pytest.mark.parametrize(
    "exercise", [*EXERCISES, *PREDICTIONS], ids=lambda exercise: exercise.name
)
KERNEL_EXERCISES = [exercise for exercise in EXERCISES if isinstance(exercise, Lines)]
RUN_TODAY = KERNEL_EXERCISES[TODAY % 7 :: 7]
WITH_LINES = pytest.mark.parametrize("exercise", KERNEL_EXERCISES, ids=lambda one: one.name)


def recorded(kernels: Sequence[Kernel], size: tuple[int, ...]) -> tuple[dict[str, float], str]:
    for record in RECORDED:
        found = {s.kernel: s.gflops for s in record if (s.m, s.n, s.k) == size}
        if all(kernel.name in found for kernel in kernels):
            return {kernel.name: found[kernel.name] for kernel in kernels}, "Recorded."
    raise KeyError([kernel.name for kernel in kernels])


MACHINE = Machine(gpu=False, speeds=recorded)


def expected_on_pages(exercise: Lines, answer: object) -> tuple[bool, str]:
    """Return what ``judged_lines.json`` has of an answer: is it right, and the sentence."""
    (expected,) = [one for one in LINES[exercise.name] if one["answer"] == answer]
    return expected["right"], expected["text"]


def listed_wrong(exercise: Exercise) -> list[tuple[Any, str]]:
    """Return the wrong answers to an exercise, each with a piece of what readers are told."""
    if isinstance(exercise, Lines):
        return [(one["answer"], one["text"]) for one in LINES[exercise.name] if not one["right"]]
    return wrong_answers(exercise.name)


def solution_of(exercise: Exercise) -> object:
    if isinstance(exercise, Estimate):
        return exercise.found(MACHINE).value
    return exercise.right_lines if isinstance(exercise, Lines) else right_answer(exercise.name)


@pytest.mark.parametrize(
    "exercise",
    [
        # Of the solutions in lines, each of which is run, one of seven, by turns each day, and none
        # of the large tiles from chapter 9 on, which take long. test_lines_by_clang.py judges
        # answers of all of them.
        pytest.param(one, id=one.name, marks=[pytest.mark.whole] if one in passed_over else [])
        for run in [[one for one in RUN_TODAY if one in KERNEL_EXERCISES[:14]]]
        for passed_over in [[one for one in KERNEL_EXERCISES if one not in run]]
        for one in [*EXERCISES, *PREDICTIONS]
    ],
)
def test_solution_is_right(exercise: Exercise) -> None:
    judged = exercise.judge(solution_of(exercise), MACHINE)
    assert judged.right, judged.text
    assert judged.text.startswith("Right: ")
    assert (judged.kernel is not None) == isinstance(exercise, Lines)
    if isinstance(exercise, Lines):
        assert expected_on_pages(exercise, exercise.right_lines) == (True, judged.text)


@pytest.mark.parametrize(
    ("exercise", "answer", "says"),
    [
        # Of the answers in lines, each of which is run, the first of every seventh exercise, by
        # turns each day; the others with -m whole. test_lines_by_clang.py judges answers of all.
        pytest.param(exercise, *wrong, marks=[pytest.mark.whole] if passed_over else [])
        for exercise in [*EXERCISES, *PREDICTIONS]
        for number, wrong in enumerate(listed_wrong(exercise))
        for passed_over in [
            isinstance(exercise, Lines) and (number > 0 or exercise not in RUN_TODAY)
        ]
    ],
    ids=lambda value: value.name if isinstance(value, Exercise) else "",
)
def test_wrong_answer_hears_what_is_wrong(exercise: Exercise, answer: object, says: str) -> None:
    judged = exercise.judge(answer, MACHINE)
    assert not judged.right
    assert judged.kernel is None
    assert says in judged.text
    assert not judged.text.startswith("Right")
    if isinstance(exercise, Lines):
        assert judged.text == says


@ALL
def test_every_exercise_has_wrong_answers_that_hear_different_things(exercise: Exercise) -> None:
    assert len({says for _, says in listed_wrong(exercise)}) >= 2


@ALL
def test_no_answer_yet_is_asked_for_in_a_sentence(exercise: Exercise) -> None:
    judged = exercise.judge(None, MACHINE)
    assert not judged.right
    assert re.fullmatch(r"Put .+ in place of `None` and run the cell\.", judged.text)


@ALL
@pytest.mark.parametrize("answer", [[1], {}, float("nan"), True, object(), b"x", "", "  ", "12"])
@pytest.mark.sampled(every=4)
def test_answer_of_another_kind_gets_a_plain_sentence(exercise: Exercise, answer: object) -> None:
    judged = exercise.judge(answer, MACHINE)
    assert not judged.right
    assert re.match(
        r"(One|A|A finite) number is wanted, |Put \"faster\"|Lines of a kernel are wanted, "
        r"|There are no lines|It does not compile",
        judged.text,
    )
    assert judged.text.endswith(".")


def test_names_are_in_order_and_each_chapter_has_at_most_five_with_a_kernel_among_them() -> None:
    names = [exercise.name for exercise in EXERCISES]
    chapters = list(dict.fromkeys(name.partition(".")[0] for name in names))
    pages = sorted((Path(__file__).parents[2] / "chapters").glob("[0-9]*.md"))
    numbered = [str(int(page.name[:2])) for page in pages[1:]]  # all but the start page
    assert chapters == numbered, "each chapter NN has exercises in chapterNN.toml"
    of = {c: [e for e in EXERCISES if e.name.startswith(f"{c}.")] for c in chapters}
    assert names == [f"{c}.{i}" for c in chapters for i in range(1, len(of[c]) + 1)]
    too_many = {c: len(found) for c, found in of.items() if len(found) > 5}
    assert too_many == {}, "each chapter has at most five exercises"
    with_lines = [c for c, found in of.items() if any(isinstance(e, Lines) for e in found)]
    assert with_lines == chapters, "each chapter asks for Lines"


# Kernels


@WITH_LINES
def test_place_occurs_once_and_consists_of_whole_lines(exercise: Lines) -> None:
    source = load_kernel(exercise.kernel).source
    assert source.count(exercise.place) == 1
    assert f"\n{exercise.place}\n" in source


@WITH_LINES
def test_unchanged_start_is_not_accepted(exercise: Lines) -> None:
    assert exercise.start in [answer for answer, _ in listed_wrong(exercise)]
    assert exercise.right_lines != exercise.start


@WITH_LINES
def test_empty_lines_around_an_answer_do_not_matter(exercise: Lines) -> None:
    plain = exercise.kernel_of(exercise.start)
    assert exercise.kernel_of(f"\n\n{exercise.start}  \n\n") == plain
    assert f"\n{exercise.start}\n" in plain.source


BARRIERS = find_exercise("2.2")
assert isinstance(BARRIERS, Lines)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_compile_error_is_told_with_the_readers_line(number: int) -> None:
    answer = ["        int a = 1;", "        a += 1;", "        a += 2;"]
    answer[number - 1] = "        a +;"
    text = BARRIERS.judge("\n" + "\n".join(answer) + "\n", MACHINE).text
    assert text.startswith(f"It does not compile. In your line {number}: ")


def test_error_outside_the_readers_lines_quotes_the_line() -> None:
    guard = find_exercise("1.3")
    unfinished = guard.judge("    float unfinished =", MACHINE).text
    assert unfinished.startswith("It does not compile. In the line `float acc = 0.0f;`: ")
    unclosed = guard.judge("    {", MACHINE).text
    assert unclosed.startswith("It does not compile. At end of source: ")


def test_race_is_told_with_the_readers_lines() -> None:
    assert isinstance(BARRIERS, Lines)
    text = BARRIERS.judge(BARRIERS.start, MACHINE).text
    assert "in your line 5: thread" in text
    assert "accesses in your line 2 with no barrier between" in text


@pytest.mark.parametrize("headless", [False, True])
def test_whole_kernel_as_text_is_taken_too(headless: bool) -> None:
    source = load_kernel("tiled").source
    text = source.partition("\n\n")[2] if headless else source
    judged = BARRIERS.judge(f"\n{text}", MACHINE)
    assert judged.right, judged.text
    assert_line_is_told(
        text, BARRIERS.judge(f"\n{text.replace('acc += As', 'acc += AS')}", MACHINE)
    )


def assert_line_is_told(text: str, judged: Judgement) -> None:
    number = next(i for i, line in enumerate(text.splitlines(), 1) if "acc += As" in line)
    assert f'In your line {number}: identifier "AS" is undefined.' in judged.text


SEVENTH_LINE = load_kernel("tiled").source.partition(BARRIERS.place)[0].count("\n") + 7


@pytest.mark.parametrize(
    ("fault", "refusal", "right"),
    [(f"mine.cu, line {SEVENTH_LINE}: it is wrong.", None, False), (None, "No memory.", True)],
)
def test_on_a_gpu_right_lines_are_checked_there_too(
    fault: str | None, refusal: str | None, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []

    def check(kernel: Kernel, sizes: Any, *, only_whole_numbers: bool) -> Iterator[CheckResult]:
        assert not only_whole_numbers
        checked.append(kernel.name)
        yield CheckResult(kernel.name, 5, 6, 7, fault, refusal, 0.0)

    monkeypatch.setattr(lines, "check", check)
    machine = Machine(gpu=True, speeds=recorded)
    assert isinstance(BARRIERS, Lines)
    judged = BARRIERS.judge(BARRIERS.right_lines, machine)
    assert judged.right is right
    assert right or "At 5×6×7, in your line 7: it is wrong." in judged.text
    assert checked == ["mine"]
    assert not BARRIERS.judge(BARRIERS.start, machine).right
    assert checked == ["mine"], "what is wrong without a GPU does not reach it"


# Numbers


@pytest.mark.parametrize(
    ("share", "says", "right"),
    [
        (1.0, ": exact", True),
        (1.05, ": 5 % too high", True),
        (0.705, ": 29.5 % too low", False),
        (3, ": 3 times too high", False),
        (0.25, ": 4 times too low", False),
    ],
)
def test_estimate_says_by_how_much_it_missed(share: float, says: str, right: bool) -> None:
    estimate = find_prediction("wgmma-gain")
    printed = round(solution_of(estimate), 2)  # type: ignore[call-overload]
    judged = estimate.judge(share * printed, MACHINE)
    assert judged.right is right
    assert says in judged.text
    assert judged.source == "Recorded."


def test_an_estimate_of_the_text_is_right() -> None:
    judged = find_prediction("naive-gain").judge(16.5, MACHINE)
    assert judged.right
    said = "Right: that is the estimate. Measured: [0-9.]+, because "
    assert re.match(said, judged.text)
    assert "%" not in judged.text


def test_the_printed_edge_of_a_tolerance_counts_as_right() -> None:
    window = find_prediction("window-gain")  # within 5 % of 1.0831, printed as 1.08
    assert window.judge(1.08 * 0.95, MACHINE).right
    assert not window.judge(1.08 * 0.949, MACHINE).right


def test_choice_is_judged_by_what_was_measured() -> None:
    choice = find_exercise("1.5")
    assert isinstance(choice, Choice)

    for speed, right in ((90.0, "slower"), (98.5, "same"), (101.5, "same"), (110.0, "faster")):
        speeds = {"naive": speed, "naive_rows": 100.0}
        machine = Machine(gpu=False, speeds=lambda *_, now=speeds: (now, "Measured here."))
        for said in ("faster", "slower", "same"):
            judged = choice.judge(f" {said.title()} ", machine)
            assert judged.right is (said == right)
            assert judged.source == "Measured here."
            assert ("You said" in judged.text) is not judged.right
