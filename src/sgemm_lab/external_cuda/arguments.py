"""What a kernel is given, as a reader writes it: "M N K 1.0 A B 0.0 C" or "x:in:4096 n=4096".

Each word is an argument, in the kernel's order:

- A, B or C: a matrix of the product C = A·B. "A:col" lies by columns; "C:zero" starts with zeros.
- A name, a use and a size: "x:in:4096", an array. What is only written is "out", what is read and
  written "inout", what starts with zeros "zero". A type may follow: "x:in:4096:int". A file stands
  in the place of a size: "x:in:x.npy". "x:in:4096@4" is a pointer to the fifth of 4096 elements.
- "image:texture:64:48" or "image:surface:64:48": an image by its width and height, one that has
  depth or layers with a third number. A type may follow, and of a texture how it is read: "linear",
  "normalized" (places from 0 to 1), "border", "wrap" or "mirror".
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
from sgemm_lab.simulator.images import Beyond, Sampling

Role = Literal["A", "B", "C"]
Use = Literal["in", "out", "inout", "zero", "texture", "surface"]

LARGEST_ARRAY = 2**26
"""Elements of one array. Above this the simulator would need more than 1 GB."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?")


@dataclass(frozen=True)
class Number:
    """A number, as text: "3", "0.5", "ceil(N/4)"; named where other arguments use it."""

    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.text}" if self.name else self.text


@dataclass(frozen=True)
class Matrix:
    """One of the three matrices of a product."""

    role: Role
    by_columns: bool = False
    zero: bool = False
    """Whether it starts with zeros, though nothing else was written there."""

    def __str__(self) -> str:
        return self.role + ":col" * self.by_columns + ":zero" * self.zero


@dataclass(frozen=True)
class Array:
    """An array of its own."""

    name: str
    use: Use
    size: str
    """Elements, as arithmetic; or a file's name that ends in ".npy"."""
    type: str = ""
    start: str = ""
    """Elements before the one that the kernel's pointer points to; empty where it is the first."""

    def __str__(self) -> str:
        start = f"@{self.start}" * bool(self.start)
        return f"{self.name}:{self.use}:{self.size}{start}" + f":{self.type}" * bool(self.type)

    def elements(self, names: Mapping[str, int]) -> int:
        """Return how many elements its size makes.

        Raises:
            LabError: it cannot be read.
        """
        return whole(self.size, names, f"size of {self.name}")


@dataclass(frozen=True)
class Image(Array):
    """A texture or a surface. Its size is "64:48": width, height, and depth or layers."""

    modes: tuple[str, ...] = ()
    """How a texture is read, in words."""

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
        """Return how many elements it has; of a vector type such as float4 each counts as one.

        Raises:
            LabError: its sides cannot be read.
        """
        return math.prod(self.sides(names))

    @property
    def sampling(self) -> Sampling:
        """How it is read."""
        beyond: Beyond = next((m for m in _BEYOND if m in self.modes), "clamp")
        return Sampling("linear" in self.modes, "normalized" in self.modes, beyond)


SIDES = 3
"""Sides that an image has at most."""
_BEYOND: tuple[Beyond, ...] = ("clamp", "border", "wrap", "mirror")
MODES = ("linear", "normalized", *_BEYOND)
"""Words that say how a texture is read."""

Given = Number | Matrix | Array


def read_arguments(text: str) -> tuple[Given, ...]:
    """Read arguments as a reader writes them.

    Raises:
        LabError: a word is none, or a name stands twice.
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
    """Return the name of an array or a number, "" where a number has none; of a matrix its role."""
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
    """Return the whole number that arithmetic stands for; a division drops its rest, as in C.

    ``ceil(N / 4)`` is rounded up as it says.

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
    """Return the whole numbers that names stand for, those of the arguments among them."""
    found = dict(names)
    for one in given:
        if isinstance(one, Number) and one.name:
            value = value_of(one, found)
            if isinstance(value, int):
                found[one.name] = value
    return found
