"""A launch, and its golden record: short enough to store, and equal only for equal answers.

A record has these keys, all but the first only where there is something to say:

``launch``: fingerprint of what was launched (``Case.fingerprint``).
``raised``, ``message``: kind and sentence of an error; nothing else then.
``arrays``: each array that the launch changed: ``type``, ``bytes``, ``sha256`` (first 16 letters;
  every NaN of a float counts as one) and the first four elements.
``lines``: counts by "file:line" that are not 0. ``total``: the launch's counts, where they are not
  the sum of the lines.
``hazards``, ``warnings``: in order, without fields that are null or false.
``trace``: ``entries``, ``arrays``, ``complete``, ``faults``, and for each column and each column of
  products the first 8 letters of the sha256 of its values as float64.
``requests``: how many memory requests the chosen warp made, and the first 16 letters of the sha256
  of their JSON.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Counts, Hazard, Result, Trace, WarpRequest, simulate

Record = dict[str, Any]

_DEBUG_DATA = re.compile(r"^\.b8 .*\n", re.M)
_FOLDER = re.compile(r'(\.file\s+\d+ ")[^"]*/')


@dataclass(frozen=True)
class Case:
    """One launch: what ``simulate`` takes."""

    name: str
    ptx: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Mapping[str, Any]
    shared_bytes: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """Return 16 letters that change with anything that is launched.

        The names in NVRTC's debug data hold the number of its process, so they are left out, and so
        is the folder of a source file.
        """
        ptx = _FOLDER.sub(r"\1", _DEBUG_DATA.sub("", self.ptx))
        how = (self.entry, self.grid, self.block, self.shared_bytes, self.options)
        args = [(name, _plain(value)) for name, value in self.args.items()]
        return _sha(json.dumps([ptx, how, args], sort_keys=True).encode())

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


def record_of(case: Case, answer: Result | LabError) -> Record:
    """Return the golden form of what the simulator answered to a case."""
    record: Record = {"launch": case.fingerprint()}
    if isinstance(answer, LabError):
        return {**record, "raised": type(answer).__name__, "message": str(answer)}
    found = {
        "arrays": _arrays(case, answer.arrays),
        **_counts(answer.counts),
        "hazards": [_without_nothing(_plain_hazard(one)) for one in answer.hazards],
        "warnings": [_without_nothing(_plain_hazard(one)) for one in answer.warnings],
        "trace": answer.trace and _trace(answer.trace),
        "requests": answer.requests and _requests(answer.requests),
    }
    plain: Record = json.loads(json.dumps({**record, **_without_nothing(found)}))
    return plain


def text_of(records: Mapping[str, Record]) -> str:
    """Return records as JSON that a diff shows well: a line for each array, line and hazard."""
    return _laid_out(dict(records), 0) + "\n"


def differences(golden: Any, found: Any, path: str = "") -> list[str]:
    """Return where an answer differs from its golden record, in words."""
    if isinstance(golden, dict) and isinstance(found, dict):
        return [
            difference
            for key in sorted({*golden, *found})
            for difference in differences(golden.get(key), found.get(key), f"{path} {key}")
        ]
    if isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        pairs = enumerate(zip(golden, found, strict=True))
        return [text for at, pair in pairs for text in differences(*pair, f"{path}[{at}]")]
    return [] if golden == found else [f"{path.strip()}: {golden} is golden, {found} was found"]


def _laid_out(value: Any, depth: int) -> str:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    if depth > 2 or not any(isinstance(part, dict | list | str) for part in parts):
        return json.dumps(value, ensure_ascii=False)
    indent = " " * (depth + 1)
    if isinstance(value, list):
        items = [_laid_out(item, 3) for item in value]
        return "[\n" + ",\n".join(indent + item for item in items) + "\n" + indent[1:] + "]"
    rows = [
        f"{indent}{json.dumps(key, ensure_ascii=False)}: {_laid_out(one, depth + 1)}"
        for key, one in value.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n" + indent[1:] + "}"


def _sha(data: bytes, letters: int = 16) -> str:
    return hashlib.sha256(data).hexdigest()[:letters]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [value.dtype.name, value.shape, _sha(np.ascontiguousarray(value).tobytes())]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def _without_nothing(found: Mapping[str, Any]) -> dict[str, Any]:
    empty: tuple[Any, ...] = (None, False, [], {})
    return {name: value for name, value in found.items() if value not in empty}


def _arrays(case: Case, arrays: Mapping[str, Any]) -> dict[str, Any]:
    records = {}
    for name, values in sorted(arrays.items()):
        before = case.args.get(name)
        if isinstance(before, np.ndarray) and before.tobytes() == values.tobytes():
            continue
        one = values.ravel()
        if one.dtype.kind == "f":
            one = np.where(np.isnan(one), np.array(np.nan, one.dtype), one)
        records[name] = {
            "type": one.dtype.name,
            "bytes": one.nbytes,
            "sha256": _sha(one.tobytes()),
            "first": [first if np.isfinite(first) else str(first) for first in one[:4].tolist()],
        }
    return records


def _counts(counts: Counts) -> dict[str, Any]:
    total = {name: value for name, value in asdict(counts.total).items() if value}
    lines = {
        f"{where.file}:{where.line}": {name: value for name, value in asdict(one).items() if value}
        for where, one in counts.lines.items()
    }
    summed: Counter[str] = Counter()
    for of_line in lines.values():
        summed.update(of_line)
    return {"lines": lines, "total": {} if dict(summed) == total else total}


def _trace(trace: Trace) -> dict[str, Any]:
    products = trace.products.items()
    return {
        "entries": len(trace),
        "complete": trace.complete,
        "arrays": trace.arrays,
        "faults": [asdict(fault) for fault in trace.faults],
        "columns": {name: _column(values) for name, values in trace.columns.items()},
        "products": {name: _column(values) for name, values in products if len(values)},
    }


def _column(values: Any) -> str:
    # Adding 0 makes -0 a 0; every NaN counts as one.
    numbers = np.where(np.isnan(values), np.nan, values).astype(np.float64) + 0.0
    return _sha(numbers.tobytes(), 8)


def _requests(requests: list[WarpRequest]) -> list[Any]:
    plain = [
        {
            "line": request.line, "space": request.space, "array": request.array.name,
            "isLoad": request.is_load, "width": request.width, "addresses": request.addresses,
            "epoch": request.epoch,
        }
        for request in requests
    ]  # fmt: skip
    return [len(requests), _sha(json.dumps(plain, sort_keys=True).encode())]


def _plain_hazard(hazard: Hazard) -> dict[str, Any]:
    return {
        "kind": hazard.kind, "location": str(hazard.location), "message": hazard.message,
        "block": hazard.block, "thread": hazard.thread, "array": hazard.array,
        "element": hazard.element, "otherThread": hazard.other_thread,
        "otherLocation": hazard.other_location and str(hazard.other_location),
        "acrossWarps": hazard.across_warps,
    }  # fmt: skip
