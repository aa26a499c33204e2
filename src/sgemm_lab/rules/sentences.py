"""The sentences that Python and JavaScript both print: ``sentences.json``, filled in.

A template's ``{name}`` stands for a value as it is, ``{name:format}`` for a formatted one:
``comma``, ``number``, ``percent``, ``share`` and ``tenths`` (one digit behind the point), ``ratio``
(two digits), ``plural word`` ("2 words"), and ``one this|that``, which is "this" for 1 and "that"
for any other number.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sgemm_lab.text import number, percent, plural, ratio

_PLACE = re.compile(r"\{(?P<name>\w+)(?::(?P<format>\w+)(?: (?P<words>[^}]*))?)?\}")


def templates(path: Path) -> dict[str, str]:
    """Return the templates of a file, by key."""
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return a template with ``values`` where it names them."""

    def fill(place: re.Match[str]) -> str:
        value = values[place["name"]]
        return _FORMATS[place["format"]](value, place["words"]) if place["format"] else str(value)

    return _PLACE.sub(fill, template)


TEMPLATES = templates(Path(__file__).with_suffix(".json"))


def sentence(key: str, **values: Any) -> str:
    """Return the sentence called ``key``, with ``values`` where it names them."""
    return filled(TEMPLATES[key], values)


def tenths(value: float) -> str:
    """Return a number with at most one digit behind the point; halves go up, as in JavaScript."""
    return f"{math.floor(value * 10 + 0.5) / 10:.15g}"


def tenths_percent(share: float) -> str:
    """Return 0.125 as "12.5 %"."""
    return f"{tenths(share * 100)} %"


_FORMATS: dict[str, Callable[[Any, str], str]] = {
    "comma": lambda value, _: f"{value:,.0f}",
    "number": lambda value, _: number(value),
    "percent": lambda value, _: percent(value),
    "share": lambda value, _: tenths_percent(value),
    "ratio": lambda value, _: ratio(value),
    "tenths": lambda value, _: tenths(value),
    "plural": plural,
    "one": lambda value, words: words.split("|")[0 if value == 1 else 1],
}
