"""Parameters that are structs, passed by value: their fields, and where each lies.

``--args`` gives the fields one after the other, in the order of the source. Offsets follow the
rules of C: each field starts at a multiple of its own size, the struct at one of its largest.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.declarations import matching
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.elements import Element, element_of
from sgemm_lab.external_cuda.host_launch import HostLaunch, Reader, UnknownError
from sgemm_lab.external_cuda.kernels import (
    FoundLaunch,
    KernelParameter,
    parameter_of,
    split,
)
from sgemm_lab.external_cuda.signatures import IMAGES, Parameter
from sgemm_lab.external_cuda.tokens import Token

POINTER_BYTES = 8
MOST_FIELDS = 64
"""Fields of a struct that ``--args`` may have to give."""
DEEPEST = 4
"""Structs in structs."""
_SKIPPED = frozenset({"static", "typedef", "using", "friend", "template", "enum"})
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|else|elif|endif)\b\s*(\w*)")
_ACCESS = frozenset({"public", "private", "protected"})

Resolve = Callable[[str], Element | None]
"""Returns what a type of the source stands for, None if it is no number."""


@dataclass(frozen=True)
class Placed:
    """A field, or a parameter that is none."""

    parameter: Parameter
    offset: int
    """Bytes from the start of the struct; 0 where there is none."""


@dataclass(frozen=True)
class Slot:
    """One parameter of the compiled kernel, and what ``--args`` gives for it."""

    parts: tuple[Placed, ...]
    struct_bytes: int = 0
    """0 where it is no struct."""


def slots_of(
    declared: Sequence[KernelParameter],
    compiled: Sequence[str],
    sources: Sources,
    resolve: Resolve,
) -> tuple[Slot, ...]:
    """Take the parameters of a kernel apart.

    Args:
        declared: as the source has them.
        compiled: their types in the PTX; "b8[16]" is a struct.
        sources: where the structs are declared.
        resolve: what types stand for.

    Raises:
        LabError: a struct cannot be taken apart.
    """
    found = []
    for one, type_ in zip(declared, compiled, strict=False):
        element = resolve(one.type)
        if not type_.startswith("b8[") or one.pointer:
            found.append(Slot((Placed(Parameter(one, element), 0),)))
            continue
        size = int(type_[3:-1])
        if size == 1 and one.type.startswith("std::"):  # std::true_type and the like: no field
            found.append(Slot((), size))
            continue
        parts, total, _ = _fields(one, sources, resolve, 0)
        if total != size or not parts or len(parts) > MOST_FIELDS:
            raise LabError(
                f"The parameter '{one.type} {one.name}' is passed by value, and its {size} bytes "
                "cannot be taken apart into numbers and pointers. Give the kernel its fields as "
                "parameters of their own."
            )
        found.append(Slot(tuple(parts), size))
    return tuple(found)


def bytes_of_type(name: str, sources: Sources, resolve: Resolve) -> int | None:
    """Return the bytes of a number, a vector or a struct; None where they are not known."""
    one = KernelParameter("", name, pointer=False, const=False)
    size = _fields(one, sources, resolve, 0)[1]
    return size if size > 0 else None


def _fields(
    one: KernelParameter, sources: Sources, resolve: Resolve, depth: int
) -> tuple[list[Placed], int, int]:
    """The fields of a struct or vector, its bytes, and the multiple it starts at."""
    element = element_of("uint3" if one.type == "dim3" else one.type) or resolve(one.type)
    if one.pointer or one.type in IMAGES:
        return [Placed(Parameter(one, element), 0)], POINTER_BYTES, POINTER_BYTES
    if element is not None:
        return _vector(one, element)
    tokens = _body(one.type, sources)
    if tokens is None or depth > DEEPEST:
        return [], -1, 1
    found: list[Placed] = []
    place, most = 0, 1
    for member, times in _members(tokens, sources):
        inner = replace(member, name=f"{one.name}.{member.name}", of=one.of or one.name)
        parts, size, alignment = _fields(inner, sources, resolve, depth + 1)
        if size < 0:
            return [], -1, 1
        place = -(-place // alignment) * alignment
        most = max(most, alignment)
        for number in range(min(times, MOST_FIELDS + 1)):  # with more nobody gives them one by one
            for part in parts:
                found.append(replace(part, offset=place + number * size + part.offset))
                if times > 1:
                    found[-1] = _numbered(found[-1], number)
        place += size * times
    return found, -(-place // most) * most, most


def _numbered(part: Placed, number: int) -> Placed:
    declared = part.parameter.declared
    named = replace(declared, name=f"{declared.name}[{number}]")
    return replace(part, parameter=replace(part.parameter, declared=named))


def _vector(one: KernelParameter, element: Element) -> tuple[list[Placed], int, int]:
    """The numbers of a vector such as float4, or the one of a number."""
    width = element.stored.itemsize
    single = Element(element.name, np.dtype(element.stored))
    if element.lanes == 1:
        return [Placed(Parameter(one, single), 0)], width, width
    parts = [
        Placed(
            Parameter(replace(one, name=f"{one.name}.{axis}", type=single.name), single),
            width * number,
        )
        for number, axis in enumerate("xyzw"[: element.lanes])
    ]
    size = width * element.lanes
    return parts, size, min(16, width if element.lanes == 3 else size)


def _body(name: str, sources: Sources) -> list[Token] | None:
    """What stands between the braces of a struct."""
    plain = name.rpartition("::")[2]
    for file in sources.files:
        for d in file.declarations:
            texts = [token.text for token in d.tokens]
            if not {"struct", "class"} & set(texts[:3]) or "{" not in texts or plain not in d.names:
                continue
            opening = texts.index("{")
            return list(d.tokens[opening + 1 : matching(d.tokens, opening)])
    return None


def _compiled(tokens: Sequence[Token], macros: frozenset[str]) -> list[Token]:
    """Leave out what ``#ifdef`` and ``#ifndef`` leave out; of other conditions keep the first."""
    kept: list[Token] = []
    conditions: list[bool] = []
    for token in tokens:
        asked = _CONDITION.match(token.text) if token.kind == "directive" else None
        if asked is None:
            if all(conditions):
                kept.append(token)
            continue
        word = asked[1]
        if word in ("if", "ifdef", "ifndef"):
            conditions.append(word == "if" or (asked[2] in macros) == (word == "ifdef"))
        elif word == "endif" and conditions:
            conditions.pop()
        elif conditions:  # "else" and "elif"
            conditions[-1] = not conditions[-1]
    return kept


def field_names(type_: str, sources: Sources) -> list[str]:
    """Return the names of a struct's fields, in order; empty if there is no such struct."""
    tokens = _body(type_, sources)
    return [] if tokens is None else [member.name for member, _ in _members(tokens, sources)]


def _members(tokens: Sequence[Token], sources: Sources) -> list[tuple[KernelParameter, int]]:
    """Each field of a struct, and how many of it there are."""
    reader = Reader(HostLaunch(FoundLaunch(0, "", (), ()), sources), {})
    tokens = _compiled(tokens, frozenset(reader.macros))
    found = []
    current: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.text == "{":  # the body of a function, or what a field starts with
            place = matching(tokens, place)
            current = current if "(" not in {t.text for t in current} else []
        elif token.text == ";":
            found += _declared(current, reader)
            current = []
        elif token.text == ":" and current and current[-1].text in _ACCESS:
            current = []
        elif token.kind != "directive":
            current.append(token)
        place += 1
    return found


def _product_of_sizes(tokens: Sequence[Token], reader: Reader) -> int:
    """Elements of ``[3]``, ``[ROWS][2]``, …; 0 where they cannot be worked out."""
    product, place = 1, 0
    while place < len(tokens) and tokens[place].text == "[":
        end = matching(tokens, place)
        try:
            size = reader.value(tokens[place + 1 : end], 0)
        except UnknownError:
            return 0
        if isinstance(size, tuple):
            return 0
        product, place = product * max(0, int(size)), end + 1
    return product


def _declared(tokens: Sequence[Token], reader: Reader) -> list[tuple[KernelParameter, int]]:
    texts = [token.text for token in tokens]
    if not texts or "(" in texts or _SKIPPED & set(texts):
        return []
    found: list[tuple[KernelParameter, int]] = []
    for part in split(list(tokens)):
        words = [t.text for t in part]
        times = 1
        if "[" in words:
            opening = words.index("[")
            times = _product_of_sizes(part[opening:], reader)
            part = part[:opening]
        if found:  # a further name of the same type
            first = found[0][0]
            name = next(w for w in words if w not in ("*", "const", "__restrict__"))
            found.append((replace(first, name=name, pointer="*" in words), times))
        else:
            found.append((parameter_of(part), times))
    return found if all(times for _, times in found) else []
