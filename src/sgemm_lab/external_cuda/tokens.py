"""The words of CUDA C++ text, each with its place: enough to see where declarations end.

A directive, such as ``#include <cmath>``, is one token with its continued lines. Comments are none.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "number", "text", "directive", "sign"]

_TOKEN = re.compile(
    r"""
      (?P<skip>   \s+ | //(?:\\\r?\n|[^\n])* | /\*.*?\*/ | \\\r?\n)
    | (?P<raw>    (?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)")
    | (?P<text>   (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | [uUL]?'(?:\\.|[^'\\\n])+')
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<name>   [^\W\d][\w]*)
    | (?P<sign>   <<[ \t]*< | :: | -> | .)
    """,
    re.X | re.S,
)
_DIRECTIVE = re.compile(r'#(?:\\\r?\n|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?!//)[^\n])*', re.S)


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its text, and where it begins and ends in the file."""

    kind: Kind
    text: str
    start: int
    end: int


def tokens_of(source: str) -> list[Token]:
    """Split text into tokens. Nothing is refused: what is no C++ becomes signs."""
    found: list[Token] = []
    place, line_is_empty = 0, True
    while place < len(source):
        if source[place] == "#" and line_is_empty:
            match = _DIRECTIVE.match(source, place)
            kind: str = "directive"
        else:
            match = _TOKEN.match(source, place)
            kind = str(match and match.lastgroup)
        assert match is not None  # any letter is a sign
        text = match[0]
        if kind == "skip":
            line_is_empty = line_is_empty or "\n" in text
        else:
            line_is_empty = False
            known = {"raw": "text", "mark": "text"}.get(kind, kind)
            text = "<<<" if text.startswith("<<") else text  # "<< <" is what some formatters make
            found.append(Token(known, text, place, match.end()))  # type: ignore[arg-type]
        place = match.end()
    return found
