"""Launches that both simulators run, and what each says of them as plain data."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from in_node import in_node

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Hazard, Result, WarpRequest, simulate

ENTRY = Path(__file__).with_name("running.js")
_CAMEL = {
    "check_hazards": "checkHazards",
    "count_requests": "countRequests",
    "requests_of": "requestsOf",
    "shared_parts": "sharedParts",
    "time_limit": "timeLimit",
}


@dataclass(frozen=True)
class Case:
    """One launch."""

    name: str
    ptx: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Mapping[str, Any]
    shared_bytes: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_javascript(self) -> dict[str, Any]:
        options = {_CAMEL.get(name, name): value for name, value in self.options.items()}
        return {
            "ptx": self.ptx,
            "entry": self.entry,
            "grid": self.grid,
            "block": self.block,
            "args": [[name, _argument(value)] for name, value in self.args.items()],
            "options": {"sharedBytes": self.shared_bytes, **options},
        }

    def in_python(self) -> dict[str, Any]:
        try:
            result = simulate(
                self.ptx,
                self.entry,
                self.grid,
                self.block,
                self.args,
                self.shared_bytes,
                **self.options,
            )
        except LabError as error:
            return {"raised": type(error).__name__, "message": str(error)}
        plain: dict[str, Any] = json.loads(json.dumps(_plain(result)))
        return plain


def in_javascript(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Run all cases in one process of Node."""
    return in_node(ENTRY, [["run", case.for_javascript()] for case in cases])


def same(python: Mapping[str, Any], javascript: Mapping[str, Any]) -> list[str]:
    """Return what differs, in words; the bits of a NaN may."""
    if "raised" in python or "raised" in javascript:
        said = [(one.get("raised"), one.get("message")) for one in (python, javascript)]
        return [] if said[0] == said[1] else [f"{said[0]} / {said[1]} {javascript.get('stack')}"]
    found = []
    for name, text in python["arrays"].items():
        mine, theirs = (_bits(one) for one in (text, javascript["arrays"][name]))
        if not np.array_equal(mine, theirs):
            found.append(f"array {name}: {mine} / {theirs}")
    for what in ("hazards", "warnings", "trace", "requests"):
        if python[what] != javascript[what]:
            found.append(f"{what}: {_first_difference(python[what], javascript[what])}")
    if python["counts"] != javascript["counts"]:
        found.append(_first_difference(python["counts"], javascript["counts"]))
    return found


def _bits(text: str) -> Any:
    raw = base64.b64decode(text)
    if len(raw) % 4:
        return np.frombuffer(raw, np.uint8)
    bits = np.frombuffer(raw, np.uint32).copy()
    bits[np.isnan(bits.view(np.float32))] = 0x7FC00000
    return bits


def _first_difference(one: Any, other: Any, path: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return _first_difference(one.get(key), other.get(key), f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            if mine != theirs:
                return _first_difference(mine, theirs, f"{path}[{number}]")
    return f"{path}: {str(one)[:300]} / {str(other)[:300]}"


def _argument(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {"type": value.dtype.name, "shape": list(value.shape), "bytes": data}


def _plain(result: Result) -> dict[str, Any]:
    return {
        "arrays": {
            name: base64.b64encode(array.tobytes()).decode()
            for name, array in result.arrays.items()
        },
        "counts": result.counts.to_json(),
        "hazards": [_plain_hazard(one) for one in result.hazards],
        "warnings": [_plain_hazard(one) for one in result.warnings],
        "trace": result.trace and result.trace.to_json(),
        "requests": result.requests and [_plain_request(one) for one in result.requests],
    }


def _plain_hazard(hazard: Hazard) -> dict[str, Any]:
    return {
        "kind": hazard.kind,
        "location": str(hazard.location),
        "message": hazard.message,
        "block": hazard.block,
        "thread": hazard.thread,
        "array": hazard.array,
        "element": hazard.element,
        "otherThread": hazard.other_thread,
        "otherLocation": hazard.other_location and str(hazard.other_location),
        "acrossWarps": hazard.across_warps,
    }


def _plain_request(request: WarpRequest) -> dict[str, Any]:
    return {
        "line": request.line,
        "space": request.space,
        "array": request.array.name,
        "isLoad": request.is_load,
        "width": request.width,
        "addresses": request.addresses,
        "window": request.window,
    }
