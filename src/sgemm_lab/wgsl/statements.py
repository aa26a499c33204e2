"""A kernel's source cut into statements, in CUDA C++ or WGSL, each named by what it makes.

A statement makes a name, fills an array, begins a loop or a function, waits, or ends what another
began. So ``const int row = …;`` and ``let row = …;`` have one name, however their languages spell
them, and two sources can be laid side by side. This reads the book's own kernels, in the form that
the style of their lines gives them; it is no parser of either language.
"""

import re
from dataclasses import dataclass

from sgemm_lab.kernel import body_start

_SAME = {"load4": "loadA"}
"""Functions of two names: CUDA's for any matrix is in WGSL the one for A."""

_FUNCTION = re.compile(r'(?:@compute.*|extern "C".*|__device__.*|fn) (\w+)\(')
_ASSERT = re.compile(r'(?:static|const)_assert\(?(.+?)(?:, ".*)?;')
_SHARED = re.compile(r"(?:__shared__|var<workgroup>).* (\w+)(?=\[|:)")
_OUTSIDE = re.compile(r"(?:@group.*> |struct |enable )(\w+)")
_LOOP = re.compile(r"for \((?:int|var) (\w+) = ")
_DECLARED = re.compile(
    r"(?:const(?:expr)? )?(?:let|var|const|auto|int|float|float4|bool|float\*) (?=\w)"
)
_STORED = re.compile(r"(?:\*reinterpret_cast<\w+\*>\(&|store4\(&)?(\w+)(?:.* [+]?= |\[)")
_CALL = re.compile(r"(\w+)\(")
_WORD = re.compile(r"[A-Za-z_]\w*", re.A)


@dataclass(frozen=True)
class Statement:
    """Some lines of a source that make one thing, with the comments above them."""

    first: int
    """Number of the first line in the file, from 1 on; a comment, if one stands above."""
    last: int
    code: str
    """The lines in one, without comments."""
    names: frozenset[str]
    """What it makes; several things where a line declares several."""
    inside: "tuple[Statement, ...]"
    """The statements around it, the outermost first."""

    @property
    def opens(self) -> bool:
        """Whether others stand inside it."""
        return self.code.endswith("{")

    @property
    def place(self) -> tuple[frozenset[str], ...]:
        """What the statements around it make."""
        return tuple(one.names for one in self.inside)

    @property
    def is_shared(self) -> bool:
        """Whether it declares shared memory, which WGSL has outside of functions."""
        return any(name.startswith("shared ") for name in self.names)

    @property
    def asked(self) -> set[str]:
        """The names of which it asserts or asks something, with what it is."""
        conditions = [name for name in self.names if name.startswith(("assert ", "if "))]
        return {word for name in conditions for word in name.split()}

    @property
    def is_end(self) -> bool:
        """Whether it only ends what another began."""
        return self.code in ("}", "};")


def statements(source: str) -> list[Statement]:
    """Return the statements of a source, without its head comment."""
    found: list[Statement] = []
    around: list[Statement] = []
    first, code = 0, ""
    skipped = body_start(source)
    for number, line in enumerate(source.splitlines()[skipped:], skipped + 1):
        text = re.sub(r"//.*", "", line)
        first = first or (number if line.strip() else 0)
        code = " ".join(f"{code} {text}".split())
        if not _is_whole(code):
            continue
        found.append(_statement(first, number, code, around))
        first, code = 0, ""
    return found


def _is_whole(code: str) -> bool:
    """Whether a statement is over; a function's head is not, until its body begins."""
    return code.endswith((";", "{", "}")) and code.count("(") == code.count(")")


def _statement(first: int, last: int, code: str, around: list[Statement]) -> Statement:
    """Return a statement, and keep in ``around`` what it ends and begins."""
    names = _names(code)
    if code.startswith("}"):
        ended = around.pop()
        if code in ("}", "};"):
            names = frozenset(f"end {name}" for name in ended.names)
    one = Statement(first, last, code, names, tuple(around))
    if one.opens:
        around.append(one)
    return one


def _names(code: str) -> frozenset[str]:
    """Return what a statement makes."""
    for form, kind in ((_FUNCTION, "function "), (_SHARED, "shared "), (_OUTSIDE, "")):
        if found := form.match(code):
            return frozenset({kind + _SAME.get(found[1], found[1])})
    if found := _ASSERT.match(code):
        return frozenset({f"assert {' '.join(_words(found[1]))}"})
    if code in ("__syncthreads();", "workgroupBarrier();"):
        return frozenset({"barrier"})
    if code.startswith("return"):
        return frozenset({"return"})
    if code.startswith(("for (", "if (", "} else if (")):
        return _names_of_block(code)
    if declared := _DECLARED.match(code):
        return frozenset(
            _WORD.match(one)[0]  # type: ignore[index]  # each begins with its name
            for one in _terms(code[declared.end() :])
        )
    if found := _STORED.match(code) or _CALL.match(code):
        return frozenset({found[1]})
    return frozenset({code})


def _names_of_block(code: str) -> frozenset[str]:
    """Return what a loop or a condition makes: what its one statement makes, if it is one line."""
    depth, at = 1, code.index("(") + 1
    while depth:
        depth += (code[at] == "(") - (code[at] == ")")
        at += 1
    head, body = code[:at], code[at:].strip(" {}")
    inner = _names(body) if body else frozenset[str]()
    if inner and not (_CALL.match(body) and not _STORED.match(body)):
        return inner
    loop = _LOOP.match(head)
    return frozenset({f"for {loop[1]}" if loop else " ".join(["if", *_words(head)])})


def _words(text: str) -> list[str]:
    return sorted(set(_WORD.findall(text)) - {"if", "else"})


def _terms(text: str) -> list[str]:
    """Split declarations at their commas, but for those inside brackets of any kind."""
    terms, depth = [""], 0
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            terms.append("")
        else:
            terms[-1] += letter
    return [term.strip() for term in terms]
