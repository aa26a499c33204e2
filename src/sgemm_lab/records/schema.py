"""A form told once, by dataclasses: JSON is read and checked by it, and written from it.

A field is a dataclass, ``str``, ``int``, ``float``, ``bool``, a tuple of any length, a dictionary
with text as keys, or one of these or None. ``Annotated`` adds rules. Whole numbers stay whole where
a ``float`` is asked for, so what was read is written again letter by letter.
"""

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sgemm_lab.errors import LabError

T = TypeVar("T")

_WIDEST = 2**63
"""Whole numbers from here on are no count of anything, and no float holds them exactly."""
_LONGEST = 60
"""Characters of a value that a message quotes."""


class FormError(ValueError):
    """Data do not fit the form. The message names the place and says what must stand there."""


@dataclass(frozen=True)
class Rule:
    """What a value must keep to: a test, and words that continue "It must be"."""

    holds: Callable[[Any], bool]
    words: str


def decoded(form: type[T], data: Any) -> T:
    """Return JSON data as an object of the form, a dataclass.

    Raises:
        FormError: something is missing, unknown, of the wrong kind, or breaks a rule.
    """
    try:
        found: T = _reader(cast(Any, form))(data)
    except _MisfitError as misfit:
        raise FormError(f"at {misfit.where} {misfit.words}") from None
    return found


def json_file(path: Path, name: str, take: str) -> Any:
    """Return the JSON data of a file.

    Args:
        path: of the file.
        name: what it is, as a message says it: "record file".
        take: what makes such a file, as a message says it: "record".

    Raises:
        LabError: the file is missing, cannot be read, or is cut off.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"There is no {name} {path.name}.") from None
    except OSError as error:
        raise LabError(f"The {name} {path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise LabError(
            f"The {name} {path.name} nests brackets deeper than any {name}. "
            f"Take it from version control again, or remove it and {take} anew."
        ) from None
    except ValueError as error:  # JSON, UTF-8, or a number of thousands of digits
        raise LabError(
            f"The {name} {path.name} is not complete JSON ({error}). It was cut off or edited. "
            f"Take it from version control again, or remove it and {take} anew."
        ) from None


def decoded_file(form: type[T], data: Any, number: int, name: str, kind: str, advice: str) -> T:
    """Return the JSON data of a file, whose key "format" must be ``number``, as an object.

    Args:
        form: the dataclass that the other keys are the fields of.
        data: what the file holds.
        number: the format that this version of the book reads.
        name: of the file, as a message says it: "record file x.json".
        kind: what it holds: "record".
        advice: what to do about another format, a sentence.

    Raises:
        LabError: the data are of another format, or do not fit the form.
    """
    found = data.get("format") if isinstance(data, dict) else None
    if found != number or isinstance(found, bool):
        raise LabError(
            f"The {name} has format {found}; this version of the book reads format {number}. "
            f"{advice}"
        )
    try:
        return decoded(form, {key: part for key, part in data.items() if key != "format"})
    except FormError as fault:
        raise LabError(f"The {name} does not fit the form of a {kind}: {fault}.") from None


def encoded(value: Any) -> Any:
    """Return an object as JSON data. A field that is None is left out."""
    if type(value) in _PLAIN:  # asked first: of 200,000 values nearly all are
        return value
    if isinstance(value, tuple):
        return [part if type(part) in _PLAIN else encoded(part) for part in value]
    if is_dataclass(value):
        form: Any = type(value)
        held = {name: getattr(value, name) for name in _names(form)}
        return {name: encoded(part) for name, part in held.items() if part is not None}
    return value


@lru_cache(maxsize=256)
def _names(form: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(form))


class _MisfitError(Exception):
    """Data that do not fit. ``place`` is the way to them from inside out, names and indices."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
        self.place: list[str | int] = []

    @property
    def where(self) -> str:
        """The place, as a message says it."""
        way = [f"[{step}]" if isinstance(step, int) else f".{_short(step)}" for step in self.place]
        return "".join(reversed(way)).removeprefix(".") or "the top"


_Reader = Callable[[Any], Any]


@lru_cache(maxsize=256)
def _reader(form: Any) -> _Reader:
    """Return what reads data of a form. It is put together once: a record has 200,000 values."""
    origin, inner = get_origin(form), get_args(form)
    if origin is Annotated:
        return _keeping_to(inner[1:], _reader(inner[0]))
    if origin in (Union, types.UnionType):  # a form, or None: then the field is left out
        return _reader(inner[0])
    if origin is tuple:
        return _reader_of_list(_reader(inner[0]))
    if origin is dict:
        return _reader_of_table(_reader(inner[1]))
    if is_dataclass(form):
        return _reader_of_object(form)
    return _reader_of_plain(*_PLAIN[form])


def _keeping_to(rules: tuple[Rule, ...], read: _Reader) -> _Reader:
    if len(rules) > 1:
        read = _keeping_to(rules[:-1], read)
    holds, words = rules[-1].holds, rules[-1].words

    def kept(data: Any) -> Any:
        value = read(data)
        if not holds(value):
            raise _misfit(data, words)
        return value

    return kept


def _reader_of_list(read: _Reader) -> _Reader:
    def items(data: Any) -> Any:
        if not isinstance(data, list):
            raise _misfit(data, "a list")
        try:
            return tuple([read(part) for part in data])
        except _MisfitError:
            for number, part in enumerate(data):  # once more, for the place
                try:
                    read(part)
                except _MisfitError as misfit:
                    misfit.place.append(number)
                    raise
            raise

    return items


def _reader_of_table(read: _Reader) -> _Reader:
    def table(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _misfit(data, "an object")
        return _each(dict.fromkeys(data, read), data)

    return table


def _reader_of_object(form: Any) -> _Reader:
    hints = get_type_hints(form, include_extras=True)
    readers = {field.name: _reader(hints[field.name]) for field in fields(form)}
    required = [field.name for field in fields(form) if _required(field)]

    def thing(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _misfit(data, "an object")
        for name in data:
            if name not in readers:
                raise _MisfitError(f"stands '{_short(name)}', which no version ever wrote")
        for name in required:
            if name not in data:
                raise _MisfitError(f"'{name}' is missing")
        return form(**_each(readers, data))

    return thing


def _each(readers: dict[str, _Reader], data: dict[str, Any]) -> dict[str, Any]:
    """Read the parts of an object, each by its own reader."""
    found = {}
    name = ""
    try:
        for name, part in data.items():
            found[name] = readers[name](part)
    except _MisfitError as misfit:
        misfit.place.append(name)
        raise
    return found


def _reader_of_plain(fits: Callable[[Any], bool], words: str) -> _Reader:
    def plain(data: Any) -> Any:
        if fits(data):
            return data
        raise _misfit(data, words)

    return plain


def _required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _is_number(data: Any, kind: Any = (int, float)) -> bool:
    return isinstance(data, kind) and not isinstance(data, bool)


_PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda data: isinstance(data, str), "text"),
    bool: (lambda data: isinstance(data, bool), "true or false"),
    int: (
        lambda data: (type(data) is int or _is_number(data, int)) and -_WIDEST < data < _WIDEST,
        "a whole number of at most 19 digits",
    ),
    float: (
        # Neither NaN nor infinity lies between.
        lambda data: (type(data) is float or _is_number(data)) and -_WIDEST < data < _WIDEST,
        "a number below 2⁶³",
    ),
}


def _misfit(data: Any, words: str) -> _MisfitError:
    return _MisfitError(f"stands {_said(data)}. It must be {words}")


def _said(data: Any) -> str:
    if isinstance(data, (dict, list)):
        return ("an object" if isinstance(data, dict) else "a list") + (
            "" if data else " of nothing"
        )
    if isinstance(data, str):
        return f"'{_short(data)}'"
    if data is None or isinstance(data, bool):
        return str(data).lower().replace("none", "null")
    huge = isinstance(data, int) and abs(data) >= _WIDEST
    return "a huge number" if huge else repr(data)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
