"""Evaluate a kernel's numbers, array sizes and launch from the file's host code, with guesses.

``host_launch`` evaluates what is certain. Here a value may be a guess and is reported as one: the
program has no command-line arguments, the simpler of two branches is taken, a loop is in its first
iteration. Parameters of the launching function are followed to its callers. Values that make the
launch too large to simulate are divided by a power of two. Nothing is executed as code.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice

from sgemm_lab.external_cuda.declarations import Declaration, after_angles, matching
from sgemm_lab.external_cuda.host_launch import (
    HostLaunch,
    Reader,
    UnknownError,
    Value,
    assignments,
)
from sgemm_lab.external_cuda.kernels import parameter_of, split, template_of
from sgemm_lab.external_cuda.structs import POINTER_BYTES, field_names
from sgemm_lab.external_cuda.tokens import Token, tokens_of

LARGEST_KEPT, LEAST = 1024, 32
"""Values up to the first are divided only where nothing else helps; none is made smaller than the
second."""

HALVINGS = 24
"""How often larger values are halved before the others are, too."""

MOST_ASSIGNMENTS = 6
"""Values of a variable that are tried, the last first."""

_ALLOCATES = {
    "cudaMalloc": 1, "cudaMallocManaged": 1, "cudaMallocHost": 1, "cudaHostAlloc": 1,
    "cudaMallocAsync": 1, "cudaMallocPitch": 2, "cudaMemcpy": 2, "cudaMemcpyAsync": 2,
    "cudaMemset": 2,
}  # fmt: skip
"""Functions whose first argument is an array, and which argument says its bytes; of
``cudaMallocPitch`` those of a row."""

_PITCH = "(({}) + 511) / 512 * 512"
"""Bytes from row to row that ``cudaMallocPitch`` chooses."""

_CLEARING = frozenset({"cudaMemset", "cudaMemsetAsync"})
_GROWS = frozenset({"push_back", "emplace_back", "resize", "insert", "assign"})
"""What changes the length of a vector."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "!=": lambda a, b: a != b,
}  # fmt: skip
_NAMES_OF_CALLS = {"argc": 1}
"""What a program that is called without arguments finds."""


@dataclass(frozen=True)
class Place:
    """Where an expression stands: what is before it in its function, and the function."""

    before: Sequence[Token]
    function: Declaration | None


class HostValues(Reader):
    """Works out host expressions, guessing where it has to."""

    def __init__(
        self,
        host: HostLaunch,
        bytes_of: Callable[[str], int | None],
        names: Mapping[str, Value],
        *,
        halvings: int = 0,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        """Read with values of ``names``; the rest divided by two as often as ``halvings`` says.

        ``kept`` are names whose values the kernel knows too, so they are never divided.
        """
        super().__init__(host, names)
        self.place = Place(host.launch.before, host.launch.function)
        self.bytes_of = bytes_of
        self.halvings = halvings
        self.kept = kept
        self.item_bytes = 4
        self.followed: set[str] = set()
        """Names that were followed to what they stand for."""
        self.names_read = 0
        """Names whose values went into what is being read."""

    def number(self, tokens: Sequence[Token]) -> int | float | None:
        """Return what an argument of the launch is; None where it cannot be worked out."""
        try:
            found = self.value(tokens, 0)
        except UnknownError:
            return None
        return None if isinstance(found, tuple) else found

    def sizes(self, tokens: Sequence[Token]) -> tuple[int, ...]:
        """Return a grid or a block.

        Raises:
            UnknownError: it cannot be worked out.
        """
        found = self.value(tokens, 0)
        return found if isinstance(found, tuple) else (int(found),)

    def array_bytes(self, tokens: Sequence[Token], item_bytes: int) -> int | None:
        """Return the bytes of the array that an argument names, by where the file allocates it.

        ``item_bytes`` are those of one element.
        """
        self.item_bytes = item_bytes
        try:
            return self._array_bytes(tokens, 0)
        except UnknownError:
            return None

    def start(self, tokens: Sequence[Token]) -> int | None:
        """Return how many elements into its array an argument such as ``a + 4`` or ``&a[4]`` leads.

        None where that cannot be worked out.
        """
        plus = _outside_brackets(tokens, "+")
        if plus is None and "[" not in (token.text for token in tokens):
            return 0
        if plus is not None and {t.kind for t in tokens[:plus]} == {"name"}:
            inside = tokens[plus + 1 :]
        elif [t.text for t in (*tokens[:1], *tokens[2:3])] == ["&", "["]:
            inside = tokens[3 : matching(tokens, 2)]
        else:
            return None
        found = self.number(inside)
        return int(found) if found is not None and found >= 0 and found == int(found) else None

    def _array_bytes(self, tokens: Sequence[Token], depth: int) -> int | None:
        names = [t.text for t in tokens if t.kind == "name"]
        if depth > MOST_ASSIGNMENTS or not names:
            return None
        for name in reversed(names):
            for place, size in self._allocations(name):
                with self.at(place):
                    try:
                        found = self.value(size, depth + 1)
                    except UnknownError:
                        continue
                    if not isinstance(found, tuple) and found >= 1:
                        return int(found)
            for place, argument in self._given_by_callers(name):
                with self.at(place):
                    bytes_ = self._array_bytes(argument, depth + 1)
                if bytes_:
                    return bytes_
        return None

    def _allocations(self, name: str) -> Iterator[tuple[Place, list[Token]]]:
        """Where an array is allocated or filled, and what says its bytes: here before elsewhere."""
        own = self.place.function
        functions = [d for f in self.host.sources.files for d in f.declarations if d.kind != "type"]
        for d in sorted(functions, key=lambda d: d is not own):
            if name not in d.words or (d.is_kernel and d is not own):
                continue
            for place, token in enumerate(d.tokens[:-1]):
                size = _ALLOCATES.get(token.text)
                if size is None or d.tokens[place + 1].text != "(":
                    continue
                inside = d.tokens[place + 2 : matching(d.tokens, place + 1)]
                parts = split(inside)
                if len(parts) > size and name in [t.text for t in parts[0][-2:]]:
                    bytes_ = parts[size]
                    if token.text == "cudaMallocPitch" and len(parts) > size + 1:
                        rows = _text(parts[size + 1])
                        bytes_ = tokens_of(f"{_PITCH.format(_text(bytes_))} * ({rows})")
                    yield Place(d.tokens[:place], d), bytes_

    def cleared(self, tokens: Sequence[Token]) -> tuple[int, int] | None:
        """Return what ``cudaMemset`` fills an array with before the launch, and how many bytes.

        None if nothing does, or if something else may write to the array.
        """
        names = {t.text for t in tokens if t.kind == "name"}
        before = self.host.launch.before
        found: list[list[list[Token]]] = []
        for place, token in enumerate(before):
            if token.kind != "name" or token.text not in names or before[place - 1].text == "*":
                continue
            call = _call_around(before, place)
            if call is None:
                return None
            name, parts = call
            if name in _CLEARING and [t.text for t in parts[0]] == [token.text]:
                found.append(parts)
            elif not name.startswith("cudaMalloc"):
                return None
        if len(found) != 1:
            return None
        value, bytes_ = (self.number(part) for part in found[0][1:3])
        return None if value is None or bytes_ is None else (int(value) & 255, int(bytes_))

    def _given_by_callers(self, name: str) -> Iterator[tuple[Place, list[Token]]]:
        """What the callers of this function give for a parameter of it, or of its template."""
        function = self.place.function
        if function is None or function.kind != "function" or name not in function.words:
            return
        number = _parameters(function).get(name)
        template = [p.name for p in template_of(function.head)]
        of_template = template.index(name) if name in template else None
        if number is None and of_template is None:
            return
        for place, values, given in self._calls(function):
            if number is not None and len(given) > number:
                yield place, given[number]
            elif of_template is not None and len(values) > of_template:
                yield place, values[of_template]

    def _calls(
        self, function: Declaration
    ) -> Iterator[tuple[Place, list[list[Token]], list[list[Token]]]]:
        """Where a function is called: the values of its template, and its arguments."""
        (called,) = function.names
        for file in self.host.sources.files:
            for d in file.declarations:
                if d is function or called not in d.words or d.kind != "function":
                    continue
                for place, token in enumerate(d.tokens[:-1]):
                    if token.text != called:
                        continue
                    opening, values = place + 1, []
                    if d.tokens[opening].text == "<":
                        opening = after_angles(d.tokens, opening)
                        values = split(d.tokens[place + 2 : opening - 1])
                    if opening < len(d.tokens) and d.tokens[opening].text == "(":
                        given = split(d.tokens[opening + 1 : matching(d.tokens, opening)])
                        yield Place(d.tokens[:place], d), values, given

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Read names as they are at another place."""
        before, names = self.place, self.names
        self.place, self.names = place, {}
        try:
            yield
        finally:
            self.place, self.names = before, names

    def value(self, tokens: Sequence[Token], depth: int) -> Value:
        """Work out an expression; of ``a ? b : c`` the branch that holds, or that can be read."""
        question = _outside_brackets(tokens, "?")
        if question is None:
            return super().value(tokens, depth)
        colon = _outside_brackets(tokens, ":")
        if colon is None:
            raise UnknownError("?")
        branches = [tokens[question + 1 : colon], tokens[colon + 1 :]]
        if not self._holds(tokens[:question], depth + 1):
            branches.reverse()
        try:
            return self.value(branches[0], depth + 1)
        except UnknownError:
            return self.value(branches[1], depth + 1)

    def _holds(self, tokens: Sequence[Token], depth: int) -> bool:
        """Say whether a condition holds; one that cannot be worked out does not."""
        read = self.names_read
        try:
            return self._compared(tokens, depth)
        finally:
            self.names_read = read

    def _compared(self, tokens: Sequence[Token], depth: int) -> bool:
        if tokens and tokens[0].text == "(" and matching(tokens, 0) == len(tokens) - 1:
            return self._compared(tokens[1:-1], depth + 1)
        for sign, both in (("|", any), ("&", all)):
            place = _outside_brackets(tokens, sign)
            if place is not None and [t.text for t in tokens[place : place + 2]] == [sign, sign]:
                sides = (tokens[:place], tokens[place + 2 :])
                return both(self._compared(side, depth + 1) for side in sides)
        for first in "<>=!":
            place = _outside_brackets(tokens, first)
            if place is None or place + 1 >= len(tokens):
                continue
            pair = first + tokens[place + 1].text
            sign = pair if pair in _COMPARISONS else first
            if sign not in _COMPARISONS:
                continue
            try:
                left = self.value(tokens[:place], depth)
                right = self.value(tokens[place + len(sign) :], depth)
            except UnknownError:
                return False
            if isinstance(left, tuple) or isinstance(right, tuple):
                return False
            return _COMPARISONS[sign](left, right)
        return False

    def known(self, name: str, depth: int) -> Value:
        """Return what a name stands for, as far as can be guessed."""
        if name in self.names or name in self.host.defines:
            self.names_read += 1
            return super().known(name, depth)
        for place, tokens in self._meanings(name):
            with self.at(place) if place else nullcontext():
                found = self._tried(name, tokens, depth)
            if found is not None:
                return found
        if name in _NAMES_OF_CALLS:
            return _NAMES_OF_CALLS[name]
        self.names_read += 1
        return super().known(name, depth)

    def _meanings(self, name: str) -> Iterator[tuple[Place | None, Sequence[Token]]]:
        """What a name may stand for, the nearest first, and where that has to be read."""
        for found in islice(assignments(name, self.place.before), MOST_ASSIGNMENTS):
            if found is not None:
                yield None, found
        pitch = _pitch(name, self.place.before)
        if pitch:
            yield None, pitch
        yield from self._given_by_callers(name)
        constant = self.constant(name)
        if constant is not None:
            yield None, constant
        macro = self.macros.get(name)
        if macro is not None and macro[0] is None:
            yield None, macro[1]

    def _tried_or_unknown(self, name: str, tokens: Sequence[Token], depth: int) -> Value:
        found = self._tried(name, tokens, depth)
        if found is None:
            raise UnknownError(name)
        return found

    def _tried(self, name: str, tokens: Sequence[Token], depth: int) -> Value | None:
        """Return what a name stands for, divided where only numbers make it.

        What names make is divided with those.
        """
        read, self.names_read = self.names_read, 0
        try:
            value = self.value(tokens, depth + 1)
        except UnknownError:
            self.names_read = read
            return None
        plain, self.names_read = not self.names_read, read + 1
        self.followed.add(name)
        if not plain or isinstance(value, tuple) or name in self.kept or value <= LEAST:
            return value
        return shrunk(value, self.halvings)

    def named(self, tokens: list[Token], place: int, depth: int) -> tuple[int, Value]:
        """Read what begins with a name; of an array that is written out, the first number."""
        name, after = tokens[place].text, place + 1
        if after + 1 < len(tokens) and tokens[after].text == ".":
            found = self._member(name, tokens[after + 1].text)
            if found:
                called = tokens[after + 2 : after + 4]
                end = after + 4 if [t.text for t in called] == ["(", ")"] else after + 2
                return end, self._tried_or_unknown(name, found, depth)
        if after >= len(tokens) or tokens[after].text != "[":
            return super().named(tokens, place, depth)
        first = _first_of_list(name, self.place.before)
        if first is None:
            raise UnknownError(name)
        return matching(tokens, after) + 1, self.value(first, depth + 1)

    def _member(self, name: str, member: str) -> Sequence[Token] | None:
        """Return what a struct's field starts with, or what says how long a vector is."""
        before = self.place.before
        declared = _initialiser(name, before)
        if declared is None:
            return None
        words, bracket, parts = declared
        if "vector" in words:
            grows = any(
                before[i].text == name and before[i + 2].text in _GROWS
                for i in range(len(before) - 2)
            )
            if member != "size" or grows:
                return None
            return parts[0] if bracket == "(" else tokens_of(str(len(parts)))
        fields = field_names(words[-1], self.host.sources) if words and bracket == "{" else []
        at = fields.index(member) if member in fields else len(parts)
        return parts[at] if at < len(parts) else None

    def size_of(self, tokens: list[Token]) -> int:
        """Bytes of a type or a struct of the file, of a pointer, or of what ``*x`` is.

        Raises:
            UnknownError: they are not known.
        """
        words = [t.text for t in tokens if t.text not in ("const", "struct")]
        if words[:1] == ["*"] or words[1:] == ["[", "0", "]"]:
            return self.item_bytes
        found = POINTER_BYTES if words[-1:] == ["*"] else self.bytes_of(" ".join(words))
        if not found:
            raise UnknownError("sizeof")
        return found


def shrunk(value: int | float, halvings: int) -> int | float:
    """Halve a value, but not below what a tile may be; the first halvings spare small values."""
    if value > LARGEST_KEPT and halvings:
        value = max(LARGEST_KEPT, int(value) >> min(halvings, HALVINGS))
    return max(LEAST, int(value) >> (halvings - HALVINGS)) if halvings > HALVINGS else value


def _first_of_list(name: str, tokens: Sequence[Token]) -> Sequence[Token] | None:
    """Return the first value of ``int name[] = {…}`` or ``std::vector<int> name = {…}``."""
    found = _initialiser(name, tokens)
    return found[2][0] if found is not None and found[1] == "{" and found[2] else None


def _initialiser(
    name: str, tokens: Sequence[Token]
) -> tuple[list[str], str, list[list[Token]]] | None:
    """Return what a declaration ends with: of ``Pair p{1, 2};`` "Pair", "{" and its two parts.

    Round brackets are those of a ``std::vector``.
    """
    for place in range(len(tokens) - 3, 0, -1):
        if tokens[place].text != name or tokens[place - 1].text in (".", "->", "[", "("):
            continue
        opening = place + 1
        if tokens[opening].text == "[":
            opening = matching(tokens, opening) + 1
        if opening < len(tokens) and tokens[opening].text == "=":
            opening += 1
        if opening >= len(tokens) or tokens[opening].text not in ("{", "("):
            continue
        start = place
        while start > 0 and tokens[start - 1].text not in (";", "{", "}"):
            start -= 1
        words = [t.text for t in tokens[start:place]]
        if tokens[opening].text == "{" or "vector" in words:
            inside = tokens[opening + 1 : matching(tokens, opening)]
            return words, tokens[opening].text, split(inside)
    return None


def _pitch(name: str, tokens: Sequence[Token]) -> list[Token] | None:
    """Return what ``cudaMallocPitch(&array, &name, …)`` sets its pitch to."""
    for place, token in enumerate(tokens):
        if token.text == "cudaMallocPitch":
            parts = split(tokens[place + 2 : matching(tokens, place + 1)])
            if len(parts) > 2 and [t.text for t in parts[1]] == ["&", name]:
                return tokens_of(_PITCH.format(_text(parts[2])))
    return None


def _call_around(tokens: Sequence[Token], place: int) -> tuple[str, list[list[Token]]] | None:
    """Return the function whose argument a token is in, and its arguments."""
    depth = 0
    for start in range(place - 1, 0, -1):
        text = tokens[start].text
        if text in (";", "{", "}"):
            return None
        depth += (text in ")]") - (text in "([")
        if depth < 0 and text == "(" and tokens[start - 1].kind == "name":
            inside = tokens[start + 1 : matching(tokens, start)]
            return tokens[start - 1].text, split(inside)
    return None


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def _parameters(function: Declaration) -> Mapping[str, int]:
    """The parameters of a function by name, each with its number."""
    (name,) = function.names
    head = function.head
    opening = next(
        (i + 1 for i, t in enumerate(head[:-1]) if t.text == name and head[i + 1].text == "("), None
    )
    if opening is None:
        return {}
    parts = split(head[opening + 1 : matching(head, opening)])
    return {parameter_of(part).name: number for number, part in enumerate(parts)}


def _outside_brackets(tokens: Sequence[Token], sign: str) -> int | None:
    """Return where a sign stands first outside of all brackets."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == sign and depth == 0:
            return place
    return None
