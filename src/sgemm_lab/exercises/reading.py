"""Read the exercises and predictions of a chapter from its ``chapterN.toml``.

The fields are those of the classes in ``model`` and ``lines``, with these differences:

* ``kind`` is "number", "estimate", "choice" or "lines".
* ``expected``, ``found``, what is ``predicted`` and the wrong answers of ``hints`` may be
  expressions in Python, of ``math`` and of what ``quantities`` has. ``constants_of`` names a
  kernel whose constants ``expected`` may use.
* ``start`` of lines is by default the ``place``.
* ``says`` is said of right lines that none of the ``cases`` fits. A case holds where its ``figure``
  is ``above`` or ``below`` a number or another figure; ``figures`` are those of ``criteria.ts``.
"""

import math
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises import quantities
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Exercise, Number

_FIGURES: dict[str, dict[str, Any]] = {
    "counted": {"per": "", "times": 1, "of": ""},
    "compiled": {"each": 1, "plus": 0, "of": ""},
    "constant": {"plus": 0},
    "least in PTX": {},
}
"""What a figure of each kind has where the file says nothing else."""
_CASE = {"right": False, "figure": "", "above": None, "below": None}


def read(path: Path, table: str) -> list[Any]:
    """Return the "exercises" or "predictions" of a chapter's file, in its order."""
    return [_exercise(fields) for fields in tomllib.loads(path.read_text("utf-8")).get(table, [])]


def _exercise(fields: dict[str, Any]) -> Exercise:
    kind = fields.pop("kind")
    if kind == "lines":
        return _lines(fields)
    if "hints" in fields:
        fields["hints"] = tuple((_value(wrong), says) for wrong, says in fields["hints"])
    if "predicted" in fields:
        fields["predicted"] = tuple(
            (partial(_value, one), says) for one, says in fields["predicted"]
        )
    if kind == "number":
        fields["expected"] = partial(_value, fields["expected"], fields.pop("constants_of", ""))
        return Number(**fields)
    fields["found"] = _value(fields["found"])
    return Choice(**fields) if kind == "choice" else Estimate(**fields)


def _value(given: Any, kernel: str = "") -> Any:
    """Return a value as it is, and that of an expression."""
    if not isinstance(given, str):
        return given
    constants = load_kernel(kernel).values if kernel else {}
    return eval(given, {**vars(math), **vars(quantities), **constants})


def _lines(fields: dict[str, Any]) -> Lines:
    cases = [{**_CASE, **case} for case in fields.pop("cases", ())]
    if "says" in fields:
        cases.append({**_CASE, "right": True, "says": fields.pop("says")})
    figures = {
        name: {**_FIGURES[figure["kind"]], **figure}
        for name, figure in fields.pop("figures", {}).items()
    }
    criteria = {"figures": figures, "cases": cases}
    return Lines(**{"start": fields["place"], **fields, "criteria": criteria})
