"""Spread the outer loops of a sequential function over threads.

One thread of the simulator would take minutes for a reference of some thousand elements. Loops
whose iterations assign no variable from outside are spread: the outermost over all threads, or,
where another such loop is the only one inside, over blocks and that one over the threads of each.
What iterations do to each other through memory is left to the race detector.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sgemm_lab.external_cuda.declarations import Declaration, matching
from sgemm_lab.external_cuda.tokens import Token

BLOCKS, THREADS = 64, 64
"""The launch of a function whose loops are spread."""

_BLOCK, _THREAD = "(int)blockIdx.x", "(int)threadIdx.x"
_ANY = f"({_BLOCK} * {THREADS} + {_THREAD})"
_LEAVES = frozenset(["return", "goto"])
_SEMICOLONS = 2
"""In the head of a loop."""


@dataclass(frozen=True)
class _Loop:
    """``for (int i = a; i < b; i++)`` and its body, by indices of tokens."""

    name: str
    equals: int
    semicolon: int
    """After the start value."""
    step: tuple[int, int]
    """The tokens of the step, from and to."""
    body: tuple[int, int]


def spread(function: Declaration, text: str) -> str | None:
    """Return the text of a function with its outer loops spread over threads; None if it has none.

    ``text`` is that of the file.
    """
    tokens = function.tokens
    start = len(function.head)
    outer = _only_loop(tokens, start + 1, len(tokens) - 1)
    if outer is None:
        return None
    inner = _only_loop(tokens, *outer.body)
    edits = (
        [*_edits(outer, tokens, _ANY, BLOCKS * THREADS)]
        if inner is None
        else [*_edits(outer, tokens, _BLOCK, BLOCKS), *_edits(inner, tokens, _THREAD, THREADS)]
    )
    pieces, place = [], function.start
    for first, last, new in sorted(edits):
        pieces += [text[place:first], new]
        place = last
    return "".join((*pieces, text[place : function.end]))


def _edits(
    loop: _Loop, tokens: Sequence[Token], number: str, count: int
) -> Iterator[tuple[int, int, str]]:
    """Start at the thread's number, and step by the count of threads."""
    place = tokens[loop.equals].end
    yield place, place, f" {number} + ("
    place = tokens[loop.semicolon].start
    yield place, place, ")"
    first, last = loop.step
    yield tokens[first].start, tokens[last].start, f"{loop.name} += {count}"


def _only_loop(tokens: Sequence[Token], start: int, end: int) -> _Loop | None:
    """Return the only loop directly between two tokens, if its iterations can be spread."""
    places, place = [], start
    while place < end:
        text = tokens[place].text
        local_array = text == "[" and tokens[place - 2].kind == "name"
        if text in ("while", "do", "if", "switch") or local_array:
            return None
        if text == "for":
            places.append(place)
            place = matching(tokens, place + 1)
        elif text in "([{":
            place = matching(tokens, place)
        place += 1
    loop = _loop(tokens, places[0]) if len(places) == 1 else None
    return loop if loop is not None and _is_free(tokens, *loop.body) else None


def _loop(tokens: Sequence[Token], place: int) -> _Loop | None:
    """Read a loop that counts up by one from where it declares its variable."""
    close = matching(tokens, place + 1)
    parts = [i for i in range(place, close) if tokens[i].text == ";"]
    if len(parts) != _SEMICOLONS:
        return None
    head = [token.text for token in tokens[place + 2 : parts[0]]]
    if "=" not in head or head.index("=") < 2 or "," in head:
        return None
    equals = place + 2 + head.index("=")
    name = tokens[equals - 1].text
    step = [token.text for token in tokens[parts[1] + 1 : close]]
    joined = "".join(step)
    if joined not in (f"{name}++", f"++{name}", f"{name}+=1"):
        return None
    condition = [token.text for token in tokens[parts[0] + 1 : parts[1]]]
    if condition[:2] not in ([name, "<"], [name, "<="]):
        return None
    start = close + 1
    if start < len(tokens) and tokens[start].text == "{":
        body = (start + 1, matching(tokens, start))
    else:
        end = start
        while end < len(tokens) and tokens[end].text != ";":
            end = matching(tokens, end) + 1 if tokens[end].text in ("(", "[", "{") else end + 1
        body = (start, min(end + 1, len(tokens)))
    return _Loop(name, equals, parts[0], (parts[1] + 1, close), body)


def _is_free(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Return whether a body assigns only variables that it declares, and leaves no function."""
    declared: set[str] = set()
    for place in range(start, end):
        token = tokens[place]
        if token.text in _LEAVES:
            return False
        if token.kind != "name":
            continue
        before, after = tokens[place - 1], tokens[place + 1].text
        assigned = _assigns(tokens, place + 1)
        typed = before.kind == "name" and after in ("=", ";", ",", "[", "(", "{")
        if typed or (before.text in ("*", "&", ">") and after == "=" and assigned):
            declared.add(token.text)
        assigned |= tokens[place - 2].text + before.text in ("++", "--")
        if assigned and before.text not in (".", ">") and token.text not in declared:
            return False
    return True


def _assigns(tokens: Sequence[Token], place: int) -> bool:
    """Return whether an operator that assigns, such as ``+=`` or ``++``, stands at a place."""
    operator = "".join(token.text for token in tokens[place : place + 3])
    if operator[:1] == "=":
        return operator[:2] != "=="
    pairs = ("++", "--", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=")
    return operator[:2] in pairs or operator in ("<<=", ">>=")
