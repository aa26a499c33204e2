"""A launch as plain data, and what the simulator answers, as plain data too."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Protocol

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Hazard, Result, WarpRequest, simulate
from sgemm_lab.simulator.arguments import Struct
from sgemm_lab.tensor_map import TensorMap

_DEBUG_DATA = re.compile(r"^\.b8 .*\n", re.M)
_FOLDER = re.compile(r'(\.file\s+\d+ ")[^"]*/')
_CAMEL = {
    "check_hazards": "checkHazards",
    "count_requests": "countRequests",
    "join_products": "joinProducts",
    "max_basic_blocks": "maxBasicBlocks",
    "requests_of": "requestsOf",
    "shared_parts": "sharedParts",
    "time_limit": "timeLimit",
    "watch_races_in": "watchRacesIn",
}


@dataclass(frozen=True)
class Case:
    """One launch: what ``simulate`` takes.

    ``hardware`` names what a GPU's counters said of it, if they were asked.
    """

    name: str
    ptx: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Mapping[str, Any]
    shared_bytes: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    hardware: Mapping[str, int] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The launch as JSON: arrays as base64 of their bytes, options in camel case."""
        options = {_CAMEL.get(name, name): _plain(value) for name, value in self.options.items()}
        return {
            "ptx": self.ptx,
            "entry": self.entry,
            "grid": self.grid,
            "block": self.block,
            "args": [[name, _plain(value)] for name, value in self.args.items()],
            "options": {"sharedBytes": self.shared_bytes, **options},
        }

    def fingerprint(self) -> str:
        """Return 16 letters that change with anything that is launched."""
        return fingerprint_of(self.plain())

    def simulate(self) -> Result:
        """Run it.

        Raises:
            LabError: as ``simulate`` does.
        """
        return simulate(
            self.ptx,
            self.entry,
            self.grid,
            self.block,
            self.args,
            self.shared_bytes,
            **self.options,
        )

    def answer(self) -> dict[str, Any]:
        """Run it, and return the result or the error as JSON would hold it."""
        try:
            plain: dict[str, Any] = json.loads(json.dumps(plain_result(self.simulate())))
        except LabError as error:
            return {"raised": type(error).__name__, "message": str(error)}
        return plain


class Runnable(Protocol):
    """What a group of the corpus has many of: ``Case``, and what ``golden_checks`` has."""

    @property
    def name(self) -> str: ...
    def plain(self) -> dict[str, Any]: ...
    def fingerprint(self) -> str: ...
    def answer(self) -> Any: ...


def fingerprint_of(launch: Mapping[str, Any]) -> str:
    """Return 16 letters that change with anything in a plain launch.

    The names in NVRTC's debug data hold the number of its process, so they are left out, and so is
    the folder of a source file.
    """
    ptx = _FOLDER.sub(r"\1", _DEBUG_DATA.sub("", launch["ptx"]))
    text = json.dumps({**launch, "ptx": ptx}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain_result(result: Result) -> dict[str, Any]:
    """Return a result in JSON."""
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


def camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass under their names in TypeScript."""
    return {re.sub("_(.)", lambda m: m[1].upper(), name): one for name, one in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        fields = [[start, name, _plain(part)] for start, name, part in value.fields]
        return {"bytes": value.bytes, "fields": fields}
    if isinstance(value, TensorMap):
        return camel_case(asdict(value))
    if isinstance(value, np.ndarray | np.generic):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"type": value.dtype.name, "shape": list(value.shape), "bytes": data}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


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
