"""Answers to exercises and predictions by their names, written by hand.

``tests/data/judged_answers.json`` has those that are not lines: ``right``, but not of estimates,
whose answer was measured; ``wrong``, each with a piece of what readers are told.
``tests/data/judged_lines.json`` has answers in lines, each with all that readers are told.
"""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (DATA / "judged_answers.json").read_text(encoding="utf-8")
)
LINES: dict[str, list[dict[str, Any]]] = json.loads(
    (DATA / "judged_lines.json").read_text(encoding="utf-8")
)


def right_answer(name: str) -> Any:
    """Return the right answer; None for an estimate."""
    return ANSWERS[name].get("right")


def wrong_answers(name: str) -> list[tuple[Any, str]]:
    return [(answer, says) for answer, says in ANSWERS[name]["wrong"]]
