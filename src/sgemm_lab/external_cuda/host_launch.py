"""Evaluate grid and block of a launch in a file's host code.

``dim3 grid((n + 31) / 32)`` and ``k<<<grid, 256>>>(x, n)`` give the grid for the n that the kernel
receives. Supported are numbers, constants, macros, functions with a single return, the last
assignment of a variable before the launch, and ``dim3``. Nothing is executed as code.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sgemm_lab.external_cuda.declarations import matching
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.kernels import FoundLaunch, split
from sgemm_lab.external_cuda.tokens import Token, tokens_of

Value = int | float | tuple[int, ...]

DEEPEST = 60
"""Deepest nesting of names and brackets."""

MOST_STEPS = 20_000
"""Most tokens read for one value; bounds macros that double each other."""

_SIZES = {"float": 4, "int": 4, "double": 8, "half": 2, "char": 1, "short": 2, "unsigned": 4,
          "float4": 16, "float2": 8, "size_t": 8, "long": 8}  # fmt: skip
_TYPES = frozenset(
    {*_SIZES, "const", "auto", "uint32_t", "int32_t", "uint", "dim3", "std", "int64_t"}
)
_PLAIN = frozenset({"int", "unsigned", "size_t", "uint", "float", "double", "uint32_t", "long"})
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "ceil": math.ceil, "ceilf": math.ceil, "floor": math.floor, "min": min, "max": max,
    "sqrt": math.sqrt,
}  # fmt: skip
_ROUNDED_UP = re.compile(
    r"i?div_?(?:round_?)?up|div_?ceil|ceil_?div|divide_?up|i?cdiv|up_?div|round_?up_?div", re.I
)
"""Names of functions that divide and round up; their definition may be missing."""

_MEMBER = 3
"""Tokens of ``name.x``."""

_PRECEDENCE = {"<<": 1, ">>": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}


class UnknownError(Exception):
    """The expression cannot be evaluated."""


@dataclass(frozen=True)
class HostLaunch:
    """A launch in the host code with its context."""

    launch: FoundLaunch
    sources: Sources
    defines: Mapping[str, str] = field(default_factory=dict)
    template: Mapping[str, str] = field(default_factory=dict)
    """Arguments of the kernel's template; host code often uses the same names."""

    def shape(
        self, given: Sequence[int | float | Mapping[str, int | float] | None]
    ) -> tuple[tuple[int, ...], ...]:
        """Return grid, block and (shared bytes,) for the kernel's arguments.

        The last is empty if unknown. ``given`` has None for an argument that is no number, and the
        fields of a struct by name.

        Raises:
            UnknownError: grid or block cannot be evaluated.
        """
        reader = self._reader(given)
        parts = [reader.value(tokens, 0) for tokens in self.launch.shape_tokens[:2]]
        if len(parts) < 2:
            raise UnknownError("It has no block.")
        grid, block = (part if isinstance(part, tuple) else (_whole(part),) for part in parts)
        return grid, block, self._shared(reader)

    def _shared(self, reader: "Reader") -> tuple[int, ...]:
        if len(self.launch.shape_tokens) <= 2:
            return (0,)
        try:
            shared = reader.value(self.launch.shape_tokens[2], 0)
        except UnknownError:
            return ()
        return () if isinstance(shared, tuple) else (_whole(shared),)

    def block(
        self, given: Sequence[int | float | Mapping[str, int | float] | None]
    ) -> tuple[int, ...]:
        """Return the block only.

        Raises:
            UnknownError: it cannot be evaluated.
        """
        if len(self.launch.shape_tokens) < 2:
            raise UnknownError("It has no block.")
        block = self._reader(given).value(self.launch.shape_tokens[1], 0)
        return block if isinstance(block, tuple) else (_whole(block),)

    def _reader(self, given: Sequence[int | float | Mapping[str, int | float] | None]) -> "Reader":
        names: dict[str, Value] = {}
        for tokens, value in zip(self.launch.argument_tokens, given, strict=False):
            words = [token.text for token in tokens]
            member = len(words) == _MEMBER and words[1] == "."
            if value is None or not (member or (len(words) == 1 and tokens[0].kind == "name")):
                continue
            if isinstance(value, Mapping):
                names |= {f"{words[0]}.{name}": one for name, one in value.items()}
            else:
                names["".join(words)] = value
        return Reader(self, names)


def _whole(value: int | float) -> int:
    return int(value)


class Reader:
    """Evaluates host expressions."""

    def __init__(self, host: HostLaunch, names: Mapping[str, Value]) -> None:
        self.host = host
        self.names = names
        self.macros = macros_of(host.sources)
        self.steps = 0

    def value(self, tokens: Sequence[Token], depth: int) -> Value:
        """Evaluate an expression. This and all methods below raise ``UnknownError``."""
        if depth > DEEPEST or not tokens:
            raise UnknownError("Nothing to read.")
        place, found = self.operation(list(tokens), 0, 0, depth)
        if place != len(tokens):
            raise UnknownError(tokens[place].text)
        return found

    def operation(
        self, tokens: list[Token], place: int, least: int, depth: int
    ) -> tuple[int, Value]:
        """Evaluate operands joined by operators of higher precedence than ``least``."""
        place, left = self.operand(tokens, place, depth + 1)
        while place < len(tokens):
            sign = tokens[place].text
            wide = sign in "<>" and place + 1 < len(tokens) and tokens[place + 1].text == sign
            sign = sign * 2 if wide else sign
            if _PRECEDENCE.get(sign, 0) <= least:
                break
            place, right = self.operation(tokens, place + 1 + wide, _PRECEDENCE[sign], depth + 1)
            left = _worked_out(sign, left, right)
        return place, left

    def operand(self, tokens: list[Token], place: int, depth: int) -> tuple[int, Value]:
        """Evaluate one operand; return the index after it and its value."""
        self.steps += 1
        if place >= len(tokens) or depth > DEEPEST or self.steps > MOST_STEPS:
            raise UnknownError("It ends too early.")
        token = tokens[place]
        if token.text in ("-", "+"):
            place, found = self.operand(tokens, place + 1, depth + 1)
            return place, _worked_out("-", 0, found) if token.text == "-" else found
        if token.kind == "number":
            return place + 1, _number(token.text)
        if token.text in ("true", "false"):
            return place + 1, int(token.text == "true")
        if token.text == "(":
            end = matching(tokens, place)
            inside = tokens[place + 1 : end]
            if inside and all(t.text in _TYPES for t in inside):  # a cast
                place, found = self.operand(tokens, end + 1, depth + 1)
                return place, _cast(inside, found)
            return end + 1, self.value(inside, depth + 1)
        if token.kind == "name":
            return self.named(tokens, place, depth)
        raise UnknownError(token.text)

    def named(self, tokens: list[Token], place: int, depth: int) -> tuple[int, Value]:
        """Evaluate what begins with a name: a variable, a call, a field of ``dim3``."""
        name = tokens[place].text
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if name == "std" and after == "::":
            return self.named(tokens, place + 2, depth)
        if name == "static_cast" and after == "<":
            opening = next((i for i, t in enumerate(tokens) if i > place and t.text == "("), place)
            end = matching(tokens, opening)
            inner = self.value(tokens[opening + 1 : end], depth + 1)
            return end + 1, _cast(tokens[place + 2 : opening - 1], inner)
        if after in ("(", "{") and place + 1 < len(tokens):
            end = matching(tokens, place + 1)
            return end + 1, self.called(name, split(tokens[place + 2 : end]), depth)
        field = tokens[place + 2].text if after == "." and place + 2 < len(tokens) else ""
        if f"{name}.{field}" in self.names:
            return place + 3, self.names[f"{name}.{field}"]
        found = self.known(name, depth)
        if after == "." and place + 2 < len(tokens):
            axis = "xyz".find(tokens[place + 2].text)
            if axis < 0 or not isinstance(found, tuple):
                raise UnknownError(name)
            return place + 3, (*found, 1, 1)[axis]
        return place + 1, found

    def called(self, name: str, parts: list[list[Token]], depth: int) -> Value:
        """Evaluate a call, a macro with arguments, or a constructor."""
        if name == "sizeof" and len(parts) == 1:
            return self.size_of(parts[0])
        macro = self.macros.get(name)
        if macro is not None and macro[0] is not None:
            named = dict(zip(macro[0], parts, strict=False))
            body = [t for one in macro[1] for t in named.get(one.text, [one])]
            return self.value(body, depth + 1)
        values = [self.value(part, depth + 1) for part in parts]
        numbers = [value for value in values if not isinstance(value, tuple)]
        if name == "dim3" and len(values) == 1 and isinstance(values[0], tuple):
            return values[0]
        if len(numbers) != len(values):
            raise UnknownError(name)
        if name == "dim3":
            return tuple(_whole(number) for number in numbers) or (1,)
        if name in _PLAIN and len(numbers) == 1:
            return _whole(numbers[0]) if name not in ("float", "double") else float(numbers[0])
        if name in _FUNCTIONS and numbers:
            try:
                return _FUNCTIONS[name](*numbers)
            except (ArithmeticError, ValueError, TypeError):
                raise UnknownError(name) from None
        try:
            return self.function(name, parts, depth)
        except UnknownError:
            if len(numbers) == 2 and _ROUNDED_UP.fullmatch(name) and numbers[1] > 0:
                return math.ceil(numbers[0] / numbers[1])
            raise

    def size_of(self, tokens: list[Token]) -> int:
        """Bytes of a type; those of a float if it is unknown."""
        return _SIZES.get(" ".join(t.text for t in tokens), 4)

    def function(self, name: str, parts: list[list[Token]], depth: int) -> Value:
        """Evaluate a function such as ``int half(int a) { return a / 2; }``."""
        for file in self.host.sources.files:
            for d in file.declarations:
                texts = [t.text for t in d.tokens]
                if d.kind != "function" or name not in d.names or texts.count("return") != 1:
                    continue
                opening = next(i for i, t in enumerate(d.tokens) if t.text == "{")
                head = list(d.tokens[:opening])
                bracket = next(i for i in range(len(head) - 1, -1, -1) if head[i].text == "(")
                takes = [p[-1].text for p in split(head[bracket + 1 : matching(head, bracket)])]
                body = list(d.tokens[texts.index("return") + 1 : -2])
                named = dict(zip(takes, parts, strict=False))
                filled = [
                    t
                    for one in body
                    for t in (_bracketed(named[one.text]) if one.text in named else [one])
                ]
                return self.value(filled, depth + 1)
        raise UnknownError(name)

    def known(self, name: str, depth: int) -> Value:
        """Return the value of a name."""
        if name in self.names:
            return self.names[name]
        if name in self.host.defines:
            return self.value(tokens_of(self.host.defines[name]), depth + 1)
        before = self.host.launch.before
        found = _assigned(name, before) or self.constant(name)
        if found:
            return self.value(found, depth + 1)
        macro = self.macros.get(name)
        if macro is not None and macro[0] is None:
            return self.value(macro[1], depth + 1)
        if name in self.host.template:
            return self.value(tokens_of(self.host.template[name]), depth + 1)
        raise UnknownError(name)

    def constant(self, name: str) -> list[Token] | None:
        """Return the initialiser of a constant outside functions; None if there is none."""
        for file in self.host.sources.files:
            for d in file.declarations:
                if d.kind == "other" and name in d.names:
                    found = _assigned(name, d.tokens)
                    if found:
                        return found
        return None


def _bracketed(tokens: list[Token]) -> list[Token]:
    return [Token("sign", "(", 0, 0), *tokens, Token("sign", ")", 0, 0)]


def _assigned(name: str, tokens: Sequence[Token]) -> list[Token] | None:
    """Return the last assignment of a variable; None if it is changed after that."""
    return next(assignments(name, tokens), None)


def assignments(name: str, tokens: Sequence[Token]) -> Iterator[list[Token] | None]:
    """Yield the values assigned to a variable, the last first.

    ``name = …;``, ``dim3 name(…)`` or ``name{…}``; None for any other modification.
    """
    for place in range(len(tokens) - 2, -1, -1):
        if tokens[place].text != name or tokens[place].kind != "name":
            continue
        before = tokens[place - 1].text if place else ""
        after = tokens[place + 1].text
        following = tokens[place + 2].text if place + 2 < len(tokens) else ""
        if after in "+-*/%" and following in ("=", after):
            yield None  # changed after it was set
        if after == "=" and following != "=" and before not in (".", "->"):
            end = place + 2
            while end < len(tokens) and tokens[end].text not in (";", ","):
                end = matching(tokens, end) + 1 if tokens[end].text in "([{" else end + 1
            yield list(tokens[place + 2 : end])
            continue
        loose = before in (",", "const", "constexpr")  # "int a(1), b(2);" or "dim3 const a(1);"
        type_ = _statement_type(tokens, place) if loose else before
        if after in ("(", "{") and type_ in _TYPES:
            inside = tokens[place + 2 : matching(tokens, place + 1)]
            head = Token("name", type_, 0, 0)
            yield [head, *_bracketed(list(inside))]
        elif after == "." and place + 3 < len(tokens) and tokens[place + 3].text == "=":
            yield None  # set in parts


def _statement_type(tokens: Sequence[Token], place: int) -> str:
    """Return the first word of the statement at an index: a type in a declaration."""
    end = place
    while place > 0 and tokens[place - 1].text not in (";", "{", "}"):
        place -= 1
    while place < end and tokens[place].text in ("const", "constexpr", "static"):
        place += 1
    return tokens[place].text


def macros_of(sources: Sources) -> dict[str, tuple[list[str] | None, list[Token]]]:
    """Macros by name: parameter names (None for an object-like macro) and tokens."""
    found: dict[str, tuple[list[str] | None, list[Token]]] = {}
    for file in sources.files:
        for d in file.declarations:
            text = d.tokens[0].text
            if d.kind != "directive" or not text[1:].lstrip().startswith("define"):
                continue
            body = text.replace("\\\n", " ").split("define", 1)[1].strip()
            tokens = tokens_of(body)
            if not tokens:
                continue
            called = len(tokens) > 1 and tokens[1].text == "(" and tokens[1].start == tokens[0].end
            if called:
                end = matching(tokens, 1)
                takes = [t.text for t in tokens[2:end] if t.kind == "name"]
                found[tokens[0].text] = (takes, tokens[end + 1 :])
            else:
                found[tokens[0].text] = (None, tokens[1:])
    return found


def _number(text: str) -> int | float:
    plain = text.replace("'", "").rstrip("uUlL")
    try:
        return int(plain, 0)
    except ValueError:
        pass
    try:
        return float(plain.rstrip("fF"))
    except ValueError:
        raise UnknownError(text) from None


def _cast(to: Sequence[Token], value: Value) -> Value:
    if isinstance(value, tuple):
        raise UnknownError("A cast of dim3.")
    return float(value) if any(t.text in ("float", "double") for t in to) else _whole(value)


def _worked_out(sign: str, left: Value, right: Value) -> Value:
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise UnknownError("Arithmetic of dim3.")
    try:
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                both = isinstance(left, int) and isinstance(right, int)
                return int(left / right) if both and abs(left) < 2**53 else left / right
            case "%":
                return _whole(left) % _whole(right)
        shift = min(63, max(0, _whole(right)))
        return _whole(left) << shift if sign == "<<" else _whole(left) >> shift
    except (ArithmeticError, ValueError):
        raise UnknownError("It cannot be worked out.") from None
