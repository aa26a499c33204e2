"""The Python client of the engine: arrays in, dataclasses out."""

import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.counts import Counts, LineCounts
from sgemm_lab.simulator.divergence import EndlessLoopError, StuckError, TimeLimitError
from sgemm_lab.simulator.hazards import Hazard
from sgemm_lab.simulator.ptx_text import PtxError
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.source_locations import Location
from sgemm_lab.simulator.trace import Fault, Trace
from sgemm_lab.simulator.traps import TrapError

Progress = Callable[[int, int], None]

_SCHEDULES = ("lockstep", "warps", "threads")
_SPACES = ("global", "shared", "local", "const")
_COUNTS = (
    "global_load_requests", "global_load_sectors", "global_load_bytes",
    "global_store_requests", "global_store_sectors", "global_store_bytes",
    "atomic_requests", "atomic_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_load_bank_conflicts",
    "shared_load_requests_as_written", "shared_load_wavefronts_as_written",
    "shared_load_bank_conflicts_as_written", "shared_load_bytes",
    "shared_store_requests", "shared_store_wavefronts", "shared_store_bank_conflicts",
    "shared_store_requests_as_written", "shared_store_wavefronts_as_written",
    "shared_store_bank_conflicts_as_written", "shared_store_bytes", "shared_atomic_requests",
    "async_copy_requests", "async_copy_reads", "async_copy_sectors", "async_copy_wavefronts",
    "async_copy_bytes", "ffma_thread_instructions", "flop", "barriers", "warp_instructions",
    "thread_instructions",
)  # fmt: skip
"""In the order of ``Count`` in launch.hpp."""

_ENTRY = np.dtype(
    [(name, "<i4") for name in
     ("step", "block", "thread", "line", "array", "element", "store", "window")]
    + [("value", "<f8")]
)  # fmt: skip
_PRODUCT = np.dtype(
    [(name, "<i4") for name in ("step", "block", "thread", "line", "window")]
    + [(name, "<f8") for name in ("a", "b", "value")]
)
_COLUMNS = ("step", "block", "thread", "line", "array", "element", "value", "store", "window")
_TYPES = {"value": np.float64, "store": np.int8}
_OF_PRODUCTS = ("step", "block", "thread", "line", "window", "a", "b", "value")


class UnknownToEngine(Exception):  # noqa: N818  the caller takes another engine then
    """The engine does not do what was asked for. The message names an instruction or an option."""


class Core(Protocol):
    """The compiled engine."""

    def call(self, data: bytes, progress: Progress | None) -> bytes:
        """Carry out a launch, and return what it did."""


class _Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, types: str, *values: Any) -> None:
        self.parts.append(struct.pack(f"<{types}", *values))

    def text(self, value: str) -> None:
        data = value.encode()
        self.pack("I", len(data))
        self.parts.append(data)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, types: str) -> Any:
        found = struct.unpack_from(f"<{types}", self._data, self._at)
        self._at += struct.calcsize(f"<{types}")
        return found[0] if len(found) == 1 else found

    def text(self) -> str:
        return self.raw(self.take("I")).decode()

    def raw(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def array(self, dtype: Any, count: int) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        return np.frombuffer(self.raw(kind.itemsize * count), kind)

    def integers(self) -> list[int]:
        return [int(one) for one in self.array("<i8", self.take("I"))]

    def place(self) -> Location:
        file = self.text()
        return Location(file, self.take("q"))

    def index(self) -> tuple[int, int, int]:
        x, y, z = self.take("qqq")
        return x, y, z

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(self.take("I")):
            kind, name = self.take("I"), self.text()
            if kind == 0:
                found[name] = self.text()
            elif kind == 1:
                found[name] = self.take("q")
            elif kind == 3:
                found[name] = sentence(self.text())
            else:
                place = self.place()
                found[name] = place
                if kind == 4:
                    found[name] = sentence("run.where", place=place) if place.line else ""
        return found

    def message(self) -> str:
        key, values = self.text(), self.values()
        about, about_values = self.text(), self.values()
        if about:
            values["what"] = sentence(about, **about_values)
        return sentence(key, **values)

    def hazard(self) -> Hazard:
        kind, place, message = self.text(), self.place(), self.message()
        block, thread = self.index(), self.index()
        has_array, array = self.take("I"), self.text()
        element = self.integers()
        other_thread = self.index() if self.take("I") else None
        other_place = self.place() if self.take("I") else None
        return Hazard(
            kind, place, message, block, thread, array if has_array else None,
            tuple(element) if element else None, other_thread, other_place, bool(self.take("I")),
        )  # fmt: skip


def launch(
    core: Core,
    ptx: str,
    entry: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Mapping[str, Any],
    shared_bytes: int,
    *,
    unwritten: Collection[str],
    check_hazards: bool,
    count_requests: bool,
    trace: bool,
    products: bool,
    only_blocks: Sequence[int] | None,
    schedule: str,
    shared_parts: Sequence[tuple[str, int, int]],
    together: bool,
    patience: int | None,
    time_limit: float,
    progress: Progress | None,
) -> tuple[dict[str, npt.NDArray[Any]], Counts, list[Hazard], list[Hazard], Trace | None]:
    """Carry out a launch as ``simulate`` describes it.

    Raises:
        UnknownToEngine: the engine does not know an instruction.
    """
    out = _Writer()
    out.text(ptx)
    out.text(entry)
    out.pack("6Iq", *grid, *block, shared_bytes)
    out.pack("5I", check_hazards, count_requests, trace, products, together)
    endless = patience is None
    out.pack("I", _SCHEDULES.index(schedule))
    out.pack("qd", -1 if endless else patience, -1 if math.isinf(time_limit) else time_limit)
    out.pack("I", len(shared_parts))
    for name, start, size in shared_parts:
        out.text(name)
        out.pack("qq", start, size)
    numbers = [] if only_blocks is None else list(only_blocks)
    out.pack(f"II{len(numbers)}I", only_blocks is not None, len(numbers), *numbers)
    out.pack("I", len(args))
    for name, value in args.items():
        out.text(name)
        if isinstance(value, np.ndarray):
            data = np.ascontiguousarray(value)
            out.pack("Iqd", 2, 0, 0.0)
            out.pack(f"II{value.ndim}q", value.itemsize, value.ndim, *value.shape)
            out.pack("IQ", name in unwritten, data.nbytes)
            out.parts.append(data.tobytes())
        elif isinstance(value, (int, np.integer)):
            number = int(value) & (2**64 - 1)
            out.pack("Iqd", 0, number - (2**64 if number >= 2**63 else 0), 0.0)
        elif isinstance(value, (float, np.floating)):
            out.pack("Iqd", 1, 0, float(value))
        else:
            raise UnknownToEngine(name)
    found = _Reader(core.call(b"".join(out.parts), progress))
    _refused(found, time_limit)
    arrays = {}
    found.take("I")
    for name, value in args.items():
        if isinstance(value, np.ndarray):
            data = found.raw(value.nbytes)
            arrays[name] = np.frombuffer(bytearray(data), value.dtype).reshape(value.shape)
    hazards = [found.hazard() for _ in range(found.take("I"))]
    warnings = [found.hazard() for _ in range(found.take("I"))]
    counts = _counts(found)
    return arrays, counts, hazards, warnings, _trace(found) if found.take("I") else None


def _refused(found: _Reader, time_limit: float) -> None:
    """Raise what the engine says of a launch that it did not carry out."""
    status = found.take("I")
    if not status:
        return
    key, values = found.text(), found.values()
    if status == 7:
        raise UnknownToEngine(key)
    at = values.pop("at", None)
    if status == 4:
        values["seconds"] = f"{time_limit:g}"
    said = sentence(key, **values)
    if at is not None:
        said = f"{at}: {said}"
    kinds = (LabError, PtxError, LabError, EndlessLoopError, TimeLimitError, StuckError, TrapError)
    kind = kinds[status]
    error = kind.__new__(kind)
    Exception.__init__(error, said)
    raise error


def _counts(found: _Reader) -> Counts:
    total, lines = LineCounts(), {}
    for _ in range(found.take("I")):
        place = found.place()
        numbers = [int(one) for one in found.array("<i8", len(_COUNTS))]
        lines[place] = LineCounts(**dict(zip(_COUNTS, numbers, strict=True)))
        total.add(lines[place])
    return Counts(total, lines)


def _trace(found: _Reader) -> Trace:
    arrays = []
    for _ in range(found.take("I")):
        name, space = found.text(), _SPACES[found.take("I")]
        arrays.append({"name": name, "space": space, "shape": found.integers()})
    complete = bool(found.take("I"))
    entries = found.array(_ENTRY, found.take("I"))
    made = found.array(_PRODUCT, found.take("I"))
    columns = {name: entries[name].astype(_TYPES.get(name, np.int32)) for name in _COLUMNS}
    products = {
        name: made[name].astype(np.int64 if name in _OF_PRODUCTS[:5] else np.float64)
        if len(made)
        else np.zeros(0)
        for name in _OF_PRODUCTS
    }
    faults = []
    for _ in range(found.take("I")):
        step, block, line, window, array, store = found.take("6q")
        threads, elements = found.integers(), found.integers()
        faults.append(
            Fault(step, block, line, window, array, bool(store), threads, elements, found.message())
        )
    return Trace(arrays, columns, complete, faults, products)
