"""The syntax of ``--args``: "M N K 1.0 A B 0.0 C" or "x:in:4096 n=4096".

Each word is an argument, in the kernel's order:

- A, B or C: a matrix of the product C = A·B. "A:col" is column-major; "C:zero" starts with zeros.
- An array: name, use and size, such as "x:in:4096". The uses are "in", "out", "inout" and "zero"
  (starts with zeros). A type may follow: "x:in:4096:int". A file may replace the size,
  "x:in:x.npy".
  "x:in:4096@4" is a pointer to the fifth of 4096 elements.
- "image:texture:64:48" or "image:surface:64:48": an image by width, height and optional depth or
  layers. A type may follow, and the modes of a texture: "linear", "normalized" (coordinates from 0
  to 1), "border", "wrap" or "mirror".
- Anything else is a number: 3, 0.5, M, or arithmetic such as ceil(N/4). "n=4096" also names it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sgemm_lab.errors import LabError
from sgemm_lab.expression import UnreadableError, whole_number
from sgemm_lab.external_cuda.elements import element_of
from sgemm_lab.simulator.arguments import Beyond, Sampling

Role = Literal["A", "B", "C"]
Use = Literal["in", "out", "inout", "zero", "texture", "surface"]

LARGEST_ARRAY = 2**26
"""Most elements of an array; more would need over 1 GB."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?")


@dataclass(frozen=True)
class Number:
    """A number as text: "3", "0.5", "ceil(N/4)"; with a name if other arguments use it."""

    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.text}" if self.name else self.text


@dataclass(frozen=True)
class Matrix:
    """A, B or C of a matrix product."""

    role: Role
    by_columns: bool = False
    zero: bool = False
    """Whether it is initialised to zeros."""

    def __str__(self) -> str:
        return self.role + ":col" * self.by_columns + ":zero" * self.zero


@dataclass(frozen=True)
class Array:
    """An array that is no matrix of a product."""

    name: str
    use: Use
    size: str
    """Number of elements, as arithmetic; or the name of a ".npy" file."""
    type: str = ""
    start: str = ""
    """Offset of the kernel's pointer, in elements; "" for 0."""

    def __str__(self) -> str:
        start = f"@{self.start}" * bool(self.start)
        return f"{self.name}:{self.use}:{self.size}{start}" + f":{self.type}" * bool(self.type)

    def elements(self, names: Mapping[str, int]) -> int:
        """Return the number of elements.

        Raises:
            LabError: it cannot be read.
        """
        return whole(self.size, names, f"size of {self.name}")


@dataclass(frozen=True)
class Image(Array):
    """A texture or a surface. Its size is "64:48": width, height, and depth or layers."""

    modes: tuple[str, ...] = ()
    """Sampling modes of a texture, out of ``MODES``."""

    def __str__(self) -> str:
        return ":".join((super().__str__(), *self.modes))

    def sides(self, names: Mapping[str, int]) -> tuple[int, int, int]:
        """Return width, height, and depth or layers.

        Raises:
            LabError: they cannot be read.
        """
        found = [whole(side, names, f"size of {self.name}") for side in self.size.split(":")]
        width, height, depth = (*found, 1, 1)[:SIDES]
        return width, height, depth

    def elements(self, names: Mapping[str, int]) -> int:
        """Return the number of elements; a vector such as float4 counts as one.

        Raises:
            LabError: its sides cannot be read.
        """
        return math.prod(self.sides(names))

    @property
    def sampling(self) -> Sampling:
        """The sampling mode."""
        beyond: Beyond = next((m for m in _BEYOND if m in self.modes), "clamp")
        return Sampling("linear" in self.modes, "normalized" in self.modes, beyond)


SIDES = 3
"""Most dimensions of an image."""
_BEYOND: tuple[Beyond, ...] = ("clamp", "border", "wrap", "mirror")
MODES = ("linear", "normalized", *_BEYOND)
"""Sampling modes of a texture."""

Given = Number | Matrix | Array


def read_arguments(text: str) -> tuple[Given, ...]:
    """Parse the text of ``--args``.

    Raises:
        LabError: a word is no argument, or a name occurs twice.
    """
    given = tuple(_one(word) for word in _words(text))
    names = [called(one) for one in given if called(one)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise LabError(f"'{twice}' stands twice among the arguments.")
    roles = {one.role for one in given if isinstance(one, Matrix)}
    if roles and roles != {"A", "B", "C"}:
        lacking = ", ".join(sorted({"A", "B", "C"} - roles))
        raise LabError(f"A product has three matrices; {lacking} is missing among the arguments.")
    return given


def _words(text: str) -> list[str]:
    words, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth <= 0 and (letter.isspace() or letter == ","):
            words.append("")
        else:
            words[-1] += letter
    return [word for word in words if word]


def _one(word: str) -> Given:
    parts = word.split(":")
    if len(parts) > 1 and parts[1] in ("texture", "surface"):
        return _image(word, parts)
    is_matrix = parts[0] in ("A", "B", "C") and set(parts[1:]) <= {"row", "col", "zero"}
    if not is_matrix and len(parts) > 2 and parts[1] in ("in", "out", "inout", "zero"):
        if not re.fullmatch(r"[^\W\d]\w*", parts[0]) or len(parts) > 4:
            raise LabError(f"'{word}' names no array. Write it like x:in:4096 or x:in:4096:int.")
        use: Use = parts[1]  # type: ignore[assignment]
        size, _, start = parts[2].partition("@")
        return Array(parts[0], use, size, parts[3] if len(parts) == 4 else "", start)
    if parts[0] in ("A", "B", "C"):
        if not set(parts[1:]) <= {"row", "col", "zero"}:
            raise LabError(f"'{word}' is no matrix. Write {parts[0]} or {parts[0]}:col.")
        role: Role = parts[0]  # type: ignore[assignment]
        return Matrix(role, "col" in parts[1:], "zero" in parts[1:])
    if len(parts) > 1:
        raise LabError(f"'{word}' is no argument. An array is written like x:in:4096 or y:out:N.")
    name, equals, value = word.partition("=")
    if equals:
        if not re.fullmatch(r"[^\W\d]\w*", name) or name in ("M", "N", "K"):
            raise LabError(f"'{word}' names no number. Write it like n=4096.")
        return Number(value, name)
    return Number(word)


def _image(word: str, parts: list[str]) -> Image:
    rest = parts[2:]
    modes = tuple(part for part in rest if part in MODES)
    rest = [part for part in rest if part not in MODES]
    type_ = rest.pop() if rest and element_of(rest[-1]) is not None else ""
    if not re.fullmatch(r"[^\W\d]\w*", parts[0]) or not 1 <= len(rest) <= SIDES:
        raise LabError(
            f"'{word}' is no texture or surface. Write it like image:texture:64:48, image:surface:"
            f"64:48:uchar4 or volume:texture:8:8:8:float:linear. Words are {', '.join(MODES)}."
        )
    use: Use = parts[1]  # type: ignore[assignment]
    return Image(parts[0], use, ":".join(rest), type_, modes=modes)


def called(given: Given) -> str:
    """Return the name of an array or a number ("" for none), or the role of a matrix."""
    return given.role if isinstance(given, Matrix) else given.name


def value_of(number: Number, names: Mapping[str, int]) -> int | float:
    """Return the value of a number.

    Raises:
        LabError: it cannot be read.
    """
    if _NUMBER.fullmatch(number.text):
        text = number.text.removesuffix("f")
        return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)
    return whole(number.text, names, "argument")


def whole(text: str, names: Mapping[str, int], what: str) -> int:
    """Evaluate integer arithmetic; ``/`` truncates as in C, ``ceil(N / 4)`` rounds up.

    Raises:
        LabError: it cannot be read.
    """
    try:
        return whole_number(text, names)
    except UnreadableError as fault:
        try:
            return whole_number(text, names, floor=True)
        except UnreadableError:
            raise LabError(f"The {what} is '{text}', {fault}.") from None


def named_numbers(given: Sequence[Given], names: Mapping[str, int]) -> dict[str, int]:
    """Return ``names`` and the integers that the arguments name."""
    found = dict(names)
    for one in given:
        if isinstance(one, Number) and one.name:
            value = value_of(one, found)
            if isinstance(value, int):
                found[one.name] = value
    return found
