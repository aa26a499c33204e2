"""The declarations of a CUDA file: extent, name and the names that each uses.

A shallow parser without a compiler: templates are not instantiated, macros not expanded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.tokens import Token, tokens_of

Kind = Literal["directive", "open", "close", "function", "type", "using", "other"]

MARKS = frozenset({"__global__", "__device__", "__host__", "__constant__", "__managed__"})
_ATTRIBUTES = frozenset(
    [
        "__launch_bounds__",
        "__attribute__",
        "__align__",
        "alignas",
        "__declspec",
        "decltype",
        "noexcept",
        "explicit",
        "__cluster_dims__",
        "__maxnreg__",
        "__block_size__",
        "requires",
    ]
)
_TYPES = frozenset({"struct", "class", "union", "enum"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class UnevenError(LabError):
    """The brackets of a file do not match, so it cannot be split into declarations."""


@dataclass(frozen=True)
class Declaration:
    """One declaration at file or namespace scope, or one directive."""

    kind: Kind
    tokens: tuple[Token, ...]
    names: frozenset[str]
    """The declared names, as far as known."""
    namespace: tuple[str, ...] = ()
    head: tuple[Token, ...] = field(default=(), repr=False)
    """A function's tokens before its body."""

    @property
    def start(self) -> int:
        """First character in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """End in the text, exclusive."""
        return self.tokens[-1].end

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name in it."""
        return frozenset(token.text for token in self.tokens if token.kind == "name")

    @cached_property
    def marks(self) -> frozenset[str]:
        """Which of ``__global__``, ``__device__``, ``__host__``, ... stand before its body."""
        head = self.head or self.tokens
        return MARKS & {token.text for token in head}

    @property
    def is_kernel(self) -> bool:
        """Whether it defines or declares a ``__global__`` function."""
        return self.kind == "function" and "__global__" in self.marks

    @property
    def has_body(self) -> bool:
        """Whether it is a definition."""
        return self.tokens[-1].text == "}"


def declarations_of(source: str) -> list[Declaration]:
    """Split the text of a file into its declarations and directives, in order.

    Raises:
        UnevenError: its brackets do not match.
    """
    return list(_Reader(tokens_of(source)).read())


def matching(tokens: Sequence[Token], opening: int) -> int:
    """Return the index of the bracket that closes ``opening``; the last index if none does."""
    depth = 0
    for place in range(opening, len(tokens)):
        text = tokens[place].text
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth == 0:
            return place
    return len(tokens) - 1


def after_angles(tokens: Sequence[Token], opening: int) -> int:
    """Return the index after the ``>`` that closes the ``<`` at ``opening``."""
    depth, place = 0, opening
    while place < len(tokens):
        text = tokens[place].text
        if text in _OPENING:
            place = matching(tokens, place)
        depth += (text == "<") - (text == ">")
        place += 1
        if depth == 0:
            return place
    return place


class _Reader:
    """Parses the tokens of one file."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.frames: list[tuple[str, ...]] = []
        """The open namespaces; () is one without a name, or an extern "C"."""

    def read(self) -> Iterator[Declaration]:
        place = 0
        while place < len(self.tokens):
            found = self.one(place)
            yield found
            place += len(found.tokens)
        # Other branches of an #if may have opened brackets: left to the compiler.

    def one(self, place: int) -> Declaration:
        """Read the declaration that begins at an index."""
        first = self.tokens[place]
        if first.kind == "directive":
            return self.made("directive", place, place + 1)
        if first.text == "}":
            if self.frames:
                self.frames.pop()
            return self.made("close", place, place + 1)
        end = self.frame_end(place)
        if end:
            return self.frame(place, end)
        end = self.call_end(place)
        if end:
            return self.made("other", place, end)
        return self.whole(place)

    def made(self, kind: Kind, start: int, end: int, names: Sequence[str] = ()) -> Declaration:
        space = tuple(name for frame in self.frames for name in frame)
        return Declaration(kind, tuple(self.tokens[start:end]), frozenset(names), space)

    def text(self, place: int) -> str:
        return self.tokens[place].text if place < len(self.tokens) else ""

    def frame_end(self, place: int) -> int:
        """Return the index after the brace that opens a namespace or an extern "C"; else 0."""
        if self.text(place) == "inline" and self.text(place + 1) == "namespace":
            place += 1
        if self.text(place) == "extern" and self.text(place + 1).startswith('"'):
            return place + 3 if self.text(place + 2) == "{" else 0
        if self.text(place) != "namespace":
            return 0
        while self.text(place) not in ("{", ";", "=", ""):
            place += 1
        return place + 1 if self.text(place) == "{" else 0

    def frame(self, place: int, end: int) -> Declaration:
        words = [t.text for t in self.tokens[place:end] if t.kind == "name"]
        known = [w for w in words if w not in ("inline", "namespace", "extern")]
        found = self.made("open", place, end)
        self.frames.append(tuple(known))
        return found

    def call_end(self, place: int) -> int:
        """Return the index after a macro call without a semicolon."""
        name, after = self.tokens[place], self.text(place + 1)
        if name.kind != "name" or after != "(" or name.text in _ATTRIBUTES:
            return 0
        end = matching(self.tokens, place + 1) + 1
        if end >= len(self.tokens):
            return end
        following = self.tokens[end]
        starts = following.kind in ("name", "directive") and following.text not in ("const", "try")
        return end if starts or following.text == "}" else 0

    def whole(self, start: int) -> Declaration:
        """Read to the semicolon or to the closing brace of a body."""
        tokens, place, head_end = self.tokens, start, 0
        if tokens[place].text == "template" and self.text(place + 1) == "<":
            place = after_angles(tokens, place + 1)
        key, assigned, called = "", False, False
        branches: list[int] = []
        depth = 0
        while place < len(tokens):
            token = tokens[place]
            text = token.text
            if token.kind == "directive":
                depth = _through(text, depth, branches)
            elif text in _OPENING:
                if depth == 0 and text == "{" and not head_end:
                    head_end = place
                if depth == 0 and text == "(" and tokens[place - 1].text not in _ATTRIBUTES:
                    called = called or not assigned
                depth += 1
            elif text in _CLOSING:
                depth -= 1
                if depth < 0:  # of a frame: the declaration lacks its semicolon
                    return self.named(start, place, head_end, key, called)
                body = text == "}" and depth == 0 and called and not assigned
                if body and head_end and not branches:
                    return self.named(start, place + 1, head_end, key, called)
            elif depth == 0:
                if text == ";":
                    return self.named(start, place + 1, head_end, key, called)
                if text == "=" and tokens[place - 1].text != "operator":
                    assigned = assigned or not self.in_operator(place)
                if text in _TYPES and not called and not key:
                    key = text
            place += 1
        if depth > 0:
            raise UnevenError("Its brackets do not match: a closing one is missing.")
        return self.named(start, place, head_end, key, called)

    def in_operator(self, place: int) -> bool:
        """Return whether a token belongs to the name of an operator, such as ``operator+=``."""
        return any(self.text(before) == "operator" for before in (place - 1, place - 2, place - 3))

    def named(self, start: int, end: int, head_end: int, key: str, called: bool) -> Declaration:
        tokens = self.tokens[start:end]
        head = tokens[: head_end - start] if head_end else tokens
        space = tuple(name for frame in self.frames for name in frame)
        kind, names = _kind_and_names(tokens, head, bool(head_end), key, called)
        return Declaration(kind, tuple(tokens), frozenset(names), space, tuple(head))


def _through(directive: str, depth: int, branches: list[int]) -> int:
    """Return the depth after a directive: all branches of an #if start at the same depth."""
    word = directive[1:].split(None, 1)[0] if directive[1:].split() else ""
    if word.startswith("if"):
        branches.append(depth)
    elif word in ("else", "elif"):
        return branches[-1] if branches else 0  # the #if may stand before the declaration
    elif word == "endif" and branches:
        branches.pop()
    return depth


def _kind_and_names(
    tokens: Sequence[Token], head: Sequence[Token], body: bool, key: str, called: bool
) -> tuple[Kind, set[str]]:
    first = tokens[0].text
    if first == "using":
        return "using", {tokens[1].text} if len(tokens) > 2 and tokens[2].text == "=" else set()
    if first == "namespace":
        return "using", {tokens[1].text}
    if first == "typedef":
        return "type", _typedef_names(tokens)
    if first == "static_assert":
        return "other", set()
    if called:
        name = function_name(head)
        if name:
            return "function", {name}
    if key:
        return "type", _type_names(tokens, key)
    return "other", _variable_names(head if not body else tokens)


def function_name(head: Sequence[Token]) -> str:
    """Return the name of a function from the tokens before its body; "" if there is none."""
    place = 0
    if head and head[0].text == "template" and len(head) > 1 and head[1].text == "<":
        place = after_angles(head, 1)
    while place < len(head):
        text = head[place].text
        if text == "operator":
            return "operator"
        if text == "(":
            before = head[place - 1]
            if before.text in _ATTRIBUTES:
                place = matching(head, place) + 1
                continue
            if before.text == ">":
                return _before_angles(head, place - 1)
            return before.text if before.kind == "name" else ""
        place += 1
    return ""


def _before_angles(head: Sequence[Token], closing: int) -> str:
    depth = 0
    for place in range(closing, -1, -1):
        text = head[place].text
        depth += (text == ">") - (text == "<")
        if depth == 0:
            return head[place - 1].text if place else ""
    return ""


def _typedef_names(tokens: Sequence[Token]) -> set[str]:
    names, depth = set(), 0
    for place, token in enumerate(tokens[:-1]):
        text, after = token.text, tokens[place + 1].text
        depth += (text in ("{", "(", "[")) - (text in ("}", ")", "]"))
        if token.kind == "name" and depth == 0 and after in (";", ",", "["):
            names.add(text)
        if token.kind == "name" and after == ")" and tokens[place - 1].text == "*":
            names.add(text)
    return names


def _type_names(tokens: Sequence[Token], key: str) -> set[str]:
    start = next(i for i, token in enumerate(tokens) if token.text == key) + 1
    names: set[str] = set()
    place = start
    while place < len(tokens) and tokens[place].text not in ("{", ";"):
        token = tokens[place]
        if token.text == "(":
            place = matching(tokens, place)
        elif token.text == ":":
            break
        elif token.kind == "name" and token.text not in (*_ATTRIBUTES, "class", "struct", "final"):
            names.add(token.text)
        place += 1
    body = next((i for i, token in enumerate(tokens) if token.text == "{"), len(tokens) - 1)
    end = matching(tokens, body)
    if key == "enum":
        names |= {
            token.text
            for i, token in enumerate(tokens[body:end], body)
            if token.kind == "name" and tokens[i - 1].text in ("{", ",")
        }
    return names | {token.text for token in tokens[end:] if token.kind == "name"}


def _variable_names(tokens: Sequence[Token]) -> set[str]:
    names, place, value = set(), 0, False
    if len(tokens) > 1 and tokens[0].text == "template" and tokens[1].text == "<":
        place = after_angles(tokens, 1)
    while place < len(tokens):
        token = tokens[place]
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.text in ("(", "[", "{"):
            place = matching(tokens, place)
        elif token.text == "=":
            value = True
        elif token.text == ",":
            value = False
        elif token.kind == "name" and not value and after in ("=", "[", ";", ",", "{", "("):
            names.add(token.text)
        place += 1
    return names
