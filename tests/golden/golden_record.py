"""The golden form of an engine's answer: short enough to keep, and equal only for equal answers.

A record has these keys, all but the first only where there is something to say:

``launch``: fingerprint of what was launched (``Case.fingerprint``).
``raised``, ``message``: kind and sentence of an error; nothing else then.
``arrays``: each array that the launch changed, and each variable of the module: ``type``,
  ``bytes``, ``sha256`` (first 16 letters; every NaN of a float counts as one) and the first four
  elements.
``lines``: counts by "file:line" that are not 0. ``total``: the launch's counts, where they are not
  the sum of the lines.
``hazards``, ``warnings``: in order, without fields that are null or false.
``trace``: ``entries``, ``arrays``, ``complete``, ``faults``, and for each column and each column of
  products the first 8 letters of the sha256 of its values as float64.
``requests``: how many memory requests the chosen warp made, and the first 16 letters of the sha256
  of their JSON.
``hardware``: counters of a GPU. ``lines`` or ``total`` must have the same values under these names.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from golden_launch import Case, Runnable

from sgemm_lab.simulator.arguments import Struct

Record = dict[str, Any]


def record_of(case: Runnable, answer: Any) -> Record:
    """Return the golden form of what an engine answered to a case."""
    record: Record = {"launch": case.fingerprint()}
    if not isinstance(case, Case):
        return {**record, **case.record(answer)}
    if case.hardware:
        record["hardware"] = dict(case.hardware)
    if "raised" in answer:
        return {**record, "raised": answer["raised"], "message": answer["message"]}
    found = {
        "arrays": _arrays(case, answer["arrays"]),
        **_counts(answer["counts"]),
        "hazards": [_without_nothing(one) for one in answer["hazards"]],
        "warnings": [_without_nothing(one) for one in answer["warnings"]],
        "trace": answer["trace"] and _trace(answer["trace"]),
        "requests": answer["requests"] and _requests(answer["requests"]),
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


def _without_nothing(found: Mapping[str, Any]) -> dict[str, Any]:
    empty: tuple[Any, ...] = (None, False, [], {})
    return {name: value for name, value in found.items() if value not in empty}


def _arrays(case: Case, arrays: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, npt.NDArray[Any]] = {}
    for name, value in case.args.items():
        given |= value.arrays if isinstance(value, Struct) else {name: value}
    records = {}
    for name, text in sorted(arrays.items()):
        raw, before = base64.b64decode(text), given.get(name)
        if isinstance(before, np.ndarray) and before.tobytes() == raw:
            continue
        values = np.frombuffer(raw, before.dtype if isinstance(before, np.ndarray) else np.uint8)
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        records[name] = {
            "type": values.dtype.name,
            "bytes": len(raw),
            "sha256": hashlib.sha256(values.tobytes()).hexdigest()[:16],
            "first": [_finite(one) for one in values[:4].tolist()],
        }
    return records


def _finite(value: Any) -> Any:
    return value if np.isfinite(value) else str(value)


def _counts(counts: Mapping[str, Any]) -> dict[str, Any]:
    total = {name: value for name, value in counts.items() if name != "lines" and value}
    lines: dict[str, dict[str, int]] = {}
    for line in counts["lines"]:
        of_line = {n: value for n, value in line.items() if n not in ("file", "line") and value}
        lines[f"{line['file']}:{line['line']}"] = of_line
    summed: Counter[str] = Counter()
    for of_line in lines.values():
        summed.update(of_line)
    return {"lines": lines, "total": {} if dict(summed) == total else total}


def _trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    columns = {
        name: values
        for name, values in trace.items()
        if name not in ("arrays", "complete", "faults", "products")
    }
    products = trace["products"]
    return {
        "entries": len(trace["step"]),
        "complete": trace["complete"],
        "arrays": trace["arrays"],
        "faults": trace["faults"],
        "columns": {name: _column(values) for name, values in columns.items()},
        "products": {name: _column(values) for name, values in products.items() if values},
    }


def _column(values: list[float | None]) -> str:
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    # Adding 0 makes -0 a 0, as JSON of some engines does.
    return hashlib.sha256((numbers + 0.0).tobytes()).hexdigest()[:8]


def _requests(requests: list[Any]) -> list[Any]:
    text = json.dumps(requests, sort_keys=True)
    return [len(requests), hashlib.sha256(text.encode()).hexdigest()[:16]]
