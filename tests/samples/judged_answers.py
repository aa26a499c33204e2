"""Answers to exercises and predictions that are not lines: the right one, and wrong ones.

``tests/data/judged_answers.json`` has them by the exercise's name, written by hand: ``right``, but
not of estimates, whose answer was measured; ``wrong``, each with a piece of what readers are told.
"""

import json
from pathlib import Path
from typing import Any

ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "judged_answers.json").read_text(encoding="utf-8")
)


def right_answer(name: str) -> Any:
    """Return the right answer; None for an estimate."""
    return ANSWERS[name].get("right")


def wrong_answers(name: str) -> list[tuple[Any, str]]:
    return [(answer, says) for answer, says in ANSWERS[name]["wrong"]]
