"""How answers are read and judged in a page, and so in Python."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_answers import wrong_answers
from playwright.sync_api import Browser, Page

from sgemm_lab.bundles import bundled
from sgemm_lab.exercises import CHOICES, Question, exercises, predictions
from sgemm_lab.exercises.model import JudgingData, judged_number
from sgemm_lab.files import PACKAGE
from sgemm_lab.lab.exercise import machine_of_records
from sgemm_lab.text import number

SCRIPTS = PACKAGE / "exercises"
QUESTIONS = [
    one for one in (*exercises(), *predictions()) if isinstance(one, Question)
]  # fmt: skip
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    for name in ("reading", "judging"):
        code = bundled(SCRIPTS / f"{name}.ts", f"lab{name.title()}")
        page.add_script_tag(content=code)
    yield page
    page.close()


def said_on(page: Page, data: JudgingData, answers: list[str]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = page.evaluate(
        "([data, answers]) => answers.map((answer) => labJudging.judge(data, answer))",
        [{"unit": "", **data}, answers],
    )
    return said


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_listed_wrong_answer_hears_the_same_on_the_page(
    page: Page, question: Question
) -> None:
    data = question.judging(machine_of_records())
    listed = wrong_answers(question.name)
    numbers = [(float(w), says) for w, says in listed if isinstance(w, (int, float))]
    words = [(w, says) for w, says in listed if isinstance(w, str) and w in CHOICES]
    listed = words if data["kind"] == "choice" else numbers
    listed = [(answer, says) for answer, says in listed if answer == answer]  # no NaN in a page
    assert listed
    said = said_on(page, data, [str(answer) for answer, _ in listed])
    for (answer, says), verdict in zip(listed, said, strict=True):
        assert verdict["right"] in (False, None), answer
        assert says in verdict["text"]


SPAN: JudgingData = {
    "kind": "number",
    "expected": 2.0,
    "tolerance": 0.1,
    "because": "",
    "hints": [{"says": "low", "below": 1.0}, {"says": "mid", "above": 3.0, "below": 4.0}],
    "otherwise": "else",
}


@pytest.mark.parametrize(
    ("given_", "says"),
    [(0.5, "low"), (1, "else"), (3, "else"), (3.5, "mid"), (4, "else"), (-5, "low")],
)
def test_a_range_leaves_out_its_ends(given_: float, says: str) -> None:
    assert judged_number(SPAN, given_).text == f"{number(given_)} is not it. {says}"


@given(FINITE)
@settings(deadline=None, max_examples=300)
def test_numbers_of_any_size_are_written(value: float) -> None:
    text = number(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-3)
    said = judged_number(SPAN, value + 0.0)
    assert said.right or said.text.startswith((f"{number(value + 0.0)} is not it", "Not exactly"))


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("262,144", "", 262144), ("262 144", "", 262144), ("262144 floats", "floats", 262144),
        ("8.59 GB", "GB", 8.59), ("25%", "%", 25), ("1,234.5", "", 1234.5), (".5", "", 0.5),
        ("2.", "", 2), ("2.5e9", "", 2.5e9), ("1E-3", "", 1e-3), ("-3", "", -3), ("−3", "", -3),
        ("2*32*4096", "", 262144), ("2 × 32 · 4096", "", 262144),
        ("8 * 1024^3 / 10^9", "", 8.589934592), ("8*1024**3/10**9", "", 8.589934592),
        ("2^3^2", "", 512), ("-2^2", "", -4), ("1 + 2*3 - 4/8", "", 6.5), ("(1 + 2)*3", "", 9),
        ("", "", None), ("   ", "", None), ("T / 4", "", None), ("8,59", "", None),
        ("1,2345", "", None), ("1.2.3", "", None), ("12 apples", "", None), ("(1 + 2", "", None),
        ("1 / 0", "", None), ("NaN", "", None), ("Infinity", "", None), ("0x10", "", None),
        ("alert(1)", "", None), ("1+", "", None), ("9^9^9", "", None), ("(" * 300, "", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(
    page: Page, text: str, unit: str, value: float | None
) -> None:
    read = page.evaluate("([text, unit]) => labReading.numberIn(text, unit)", [text, unit])
    assert read == (value if value is None else pytest.approx(value, rel=1e-15))


def test_no_number_is_no_verdict(page: Page) -> None:
    (said,) = said_on(page, SPAN, ["what?"])
    assert said["right"] is None
    assert said["text"].startswith("A number is wanted, such as 1024")


def test_who_passes_is_told_the_answer_without_a_verdict(page: Page) -> None:
    estimate = {"kind": "estimate", "expected": 1.098, "says": "Measured."}
    feedback = {"same": "Right: same. So it was.", "faster": "No."}
    choice = {"kind": "choice", "expected": "same", "feedback": feedback}
    said = [page.evaluate("labJudging.skippedText", data) for data in (estimate, choice)]
    assert said == ["It is 1.10. Measured.", "It is same. So it was."]
