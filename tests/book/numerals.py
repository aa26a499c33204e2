"""Find numerals with units in what a chapter says: its prose, and the text that its cells say."""

import ast
import re
from collections.abc import Iterator

FIELD = "⟨value⟩"
"""Stands for a value that a cell fills in: no numeral."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1`*$", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"^:[\w-]+:.*$", re.MULTILINE)
_VALUE = re.compile(r"\{value\}(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
_MATH = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)
_LAST_NUMBER = re.compile(r"(?<![\w^{.,])\d[\d.,]*(?=\s*\$$)")
_TARGET = re.compile(r"\]\([^)]*\)")
_SAID_BY_NAME = {"caption", "conclusion", "note", "hint"}

_UNIT = (
    r"%|×(?!\s*[\w$⟨])|×(?=\s+(?:as|faster|slower|more|less)\b)|(?:percent|[KMGT]?FLOP/[sB]|[KMGT]B(?:/s)?|B/s|cycles?|clocks?"
    r"|[mµun]s|(?:milli|micro|nano)?seconds?|minutes?|hours?|times|[KMG]?Hz)(?!\w)"
)
_NUMERAL = re.compile(rf"(?<![\w.,^])\d[\d,]*(?:\.\d+)?[ \u00a0\u202f\n]*(?:{_UNIT})")


def numerals(chapter: str) -> list[str]:
    """Return every numeral with a unit that a chapter's text has, one space in between."""
    found = [match[0] for text in _texts(chapter) for match in _NUMERAL.finditer(_plain(text))]
    return [re.sub(r"(?<=\d)\s*(?=[^\d.,\s])", " ", " ".join(numeral.split())) for numeral in found]


def _texts(chapter: str) -> Iterator[str]:
    prose: list[str] = []
    end = 0
    chapter = _FRONT_MATTER.sub("", chapter)
    for fence in _FENCE.finditer(chapter):
        prose.append(chapter[end : fence.start()])
        end = fence.end()
        kind, body = fence[2].strip(), _OPTION.sub("", fence[3])
        if kind.startswith("{code-cell}"):
            yield from _said(ast.parse(body))
        elif kind.startswith("{"):
            yield body
    yield "".join([*prose, chapter[end:]])


def _said(cell: ast.Module) -> Iterator[str]:
    """Return what a cell says to the reader: texts, captions and notes, grounds of verdicts."""
    for call in ast.walk(cell):
        if not isinstance(call, ast.Call):
            continue
        verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if verb == "say":
            yield from map(_literal, call.args[:1])
        if verb == "verdicts":
            tables = [*call.args, *(word.value for word in call.keywords)]
            rows = [row for table in tables if isinstance(table, ast.List) for row in table.elts]
            yield from (_literal(row.elts[3]) for row in rows if isinstance(row, ast.Tuple))
        yield from (_literal(word.value) for word in call.keywords if word.arg in _SAID_BY_NAME)


def _literal(node: ast.expr) -> str:
    """Return the text of a string, with fields in place of what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_literal, node.values))
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_literal(node.body)} {_literal(node.orelse)}"
    return FIELD


def _plain(text: str) -> str:
    text = _CODE.sub(" ", _VALUE.sub(FIELD, text))
    text = _MATH.sub(lambda math: (_LAST_NUMBER.findall(math[0]) or [" "])[-1], text)
    return _TARGET.sub("]", text)
