"""Decode JSON to dataclasses and encode it; the fields of a record are in ``gpu_record.py``.

The dataclasses are the schema. A field is a dataclass, ``str``, ``int``, ``float``, ``bool``, a
tuple of any length, a dictionary with string keys, or one of these or None. ``Annotated`` adds
rules. An integer in a ``float`` field stays an integer, so a file that is read and
written again keeps every character.
"""

import json
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_NUMBER_LIMIT = 2**63
"""Larger integers are not a count of anything, and a float may not hold them exactly."""
_QUOTE_LIMIT = 60
"""Characters of a value that a message quotes."""
_PLAIN: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number of at most 19 digits",
    float: "a number below 2⁶³",
}


class SchemaError(ValueError):
    """Data that do not fit the schema. The message names the field and the expected value."""


@dataclass(frozen=True)
class Rule:
    """A condition on a value, and its text, which continues "It must be"."""

    holds: Callable[[Any], bool]
    text: str


def decode(cls: type[T], data: Any) -> T:
    """Convert JSON data to an object of the dataclass ``cls``.

    Raises:
        SchemaError: a field is missing, unknown, of the wrong type, or breaks a rule.
    """
    try:
        found: T = _reader(cast(Any, cls))(data)
    except _MismatchError as fault:
        raise SchemaError(str(fault)) from None
    return found


def encode(value: Any) -> Any:
    """Convert an object to JSON data. Fields that are None are omitted."""
    if isinstance(value, tuple):
        return [part if type(part) in _PLAIN else encode(part) for part in value]
    if is_dataclass(value):
        cls: Any = type(value)
        parts = {name: getattr(value, name) for name in _names(cls)}
        return {name: encode(part) for name, part in parts.items() if part is not None}
    return value


@lru_cache(maxsize=256)
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


class _MismatchError(Exception):
    """Data that do not fit. ``place`` holds field names and indices, innermost first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place: list[str | int] = []

    def __str__(self) -> str:
        parts = (f"[{p}]" if isinstance(p, int) else f".{_short(p)}" for p in reversed(self.place))
        return f"{''.join(parts).removeprefix('.') or 'the top level'} {self.text}"


def _mismatch(data: Any, wanted: str) -> _MismatchError:
    found = _short(json.dumps(data, ensure_ascii=False))
    return _MismatchError(f"is {found}. It must be {wanted}")


def _short(text: str) -> str:
    return text if len(text) <= _QUOTE_LIMIT else f"{text[:_QUOTE_LIMIT]}…"


_Reader = Callable[[Any], Any]


@lru_cache(maxsize=256)
def _reader(cls: Any) -> _Reader:
    """Build the function that reads one type; cached, because a record has 200,000 values."""
    origin, inner = get_origin(cls), get_args(cls)
    if origin is Annotated:
        read = _reader(inner[0])
        for mark in inner[1:]:
            read = _marked_reader(mark, read)
        return read
    if origin in (Union, types.UnionType):  # a type or None: an omitted field
        return _reader(inner[0])
    if origin is tuple:
        return _list_reader(_reader(inner[0]))
    if origin is dict:
        return _dict_reader(_reader(inner[0]), _reader(inner[1]))
    if is_dataclass(cls):
        return _dataclass_reader(cls)
    return _plain_reader(cls)


def _marked_reader(mark: Rule, read: _Reader) -> _Reader:
    def checked(data: Any) -> Any:
        value = read(data)
        if not mark.holds(value):
            raise _mismatch(data, mark.text)
        return value

    return checked


def _list_reader(read: _Reader) -> _Reader:
    def items(data: Any) -> Any:
        if not isinstance(data, list):
            raise _mismatch(data, "a list")
        found: list[Any] = []
        try:
            for part in data:
                found.append(read(part))
        except _MismatchError as fault:
            fault.place.append(len(found))
            raise
        return tuple(found)

    return items


def _dict_reader(read_key: _Reader, read: _Reader) -> _Reader:
    def table(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _mismatch(data, "an object")
        items = _read_items(dict.fromkeys(data, read), data)
        return {read_key(key): item for key, item in items.items()}

    return table


def _dataclass_reader(cls: Any) -> _Reader:
    hints = get_type_hints(cls, include_extras=True)
    readers = {name: _reader(hints[name]) for name in _names(cls)}
    required = [
        field.name
        for field in fields(cls)
        if field.default is MISSING and field.default_factory is MISSING
    ]

    def instance(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _mismatch(data, "an object")
        for name in data.keys() - readers.keys():
            raise _MismatchError(f"has the unknown field '{_short(name)}'")
        for name in required:
            if name not in data:
                raise _MismatchError(f"lacks the field '{name}'")
        return cls(**_read_items(readers, data))

    return instance


def _read_items(readers: dict[str, _Reader], data: dict[str, Any]) -> dict[str, Any]:
    """Read the items of an object, each by its own reader."""
    found, name = {}, ""
    try:
        for name, part in data.items():
            found[name] = readers[name](part)
    except _MismatchError as fault:
        fault.place.append(name)
        raise
    return found


def _plain_reader(cls: Any) -> _Reader:
    kinds = (float, int) if cls is float else cls

    def plain(data: Any) -> Any:
        fits = type(data) is cls or (isinstance(data, kinds) and not isinstance(data, bool))
        # The comparison is false for NaN and infinity.
        if fits and (cls in (str, bool) or -_NUMBER_LIMIT < data < _NUMBER_LIMIT):
            return data
        raise _mismatch(data, _PLAIN[cls])

    return plain
