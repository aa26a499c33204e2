"""Simulate one kernel launch in a process of Node."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator import worker
from sgemm_lab.simulator.counts import Counts, LineCounts
from sgemm_lab.simulator.hazards import Hazard
from sgemm_lab.simulator.images import Sampling
from sgemm_lab.simulator.memory import NamedArray
from sgemm_lab.simulator.simulation import Argument, Progress, Result
from sgemm_lab.simulator.source_locations import Location
from sgemm_lab.simulator.trace import Fault, Trace
from sgemm_lab.simulator.variables import Struct
from sgemm_lab.simulator.warp_requests import WarpRequest
from sgemm_lab.tensor_map import TensorMap

_EXACT = 2**53
"""Whole numbers from here on are no numbers of JavaScript."""
_COLUMNS = {"value": np.float64, "a": np.float64, "b": np.float64, "store": np.int8}


def simulate_in_node(
    ptx: str,
    entry: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Mapping[str, Argument],
    shared_bytes: int = 0,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Run a kernel's PTX: see ``simulate``."""
    given = {
        "ptx": ptx,
        "entry": entry,
        "grid": grid,
        "block": block,
        "args": [[name, _argument(value)] for name, value in args.items()],
        "options": _camel_case({"shared_bytes": shared_bytes, **_as_json(options)}),
    }
    answer = worker.ask("simulate", given, progress)
    trace = answer["trace"]
    requests = answer["requests"]
    return Result(
        arrays=_arrays({**options.get("variables", {}), **args}, answer["arrays"]),
        counts=_counts(answer["lines"]),
        hazards=[_hazard(one) for one in answer["hazards"]],
        warnings=[_hazard(one) for one in answer["warnings"]],
        trace=None if trace is None else _trace(trace),
        requests=None if requests is None else [_request(one) for one in requests],
    )


def _argument(value: Argument) -> Any:
    if isinstance(value, TensorMap):
        return _camel_case(asdict(value))
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Struct):
        fields = [(start, name, np.asarray(part)) for start, name, part in value.fields]
        return {"bytes": value.bytes, "fields": fields}
    number = value.item() if isinstance(value, np.generic) else value
    plain = math.isfinite(number) and (isinstance(number, float) or abs(number) < _EXACT)
    return number if plain else {"number": str(number)}


def _as_json(options: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(options)
    if found.get("time_limit") == math.inf:
        del found["time_limit"]
    images: Mapping[str, Sampling] = found.get("images") or {}
    found["images"] = {name: asdict(sampling) for name, sampling in images.items()}
    found["variables"] = found.get("variables") or {}
    return found


def _camel_case(values: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub("_(.)", lambda m: m[1].upper(), name): one for name, one in values.items()}


def _arrays(
    args: Mapping[str, Argument], found: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Give arrays the types and shapes with which they came."""
    given: dict[str, Any] = {}
    for name, value in args.items():
        given |= value.arrays if isinstance(value, Struct) else {name: value}
    return {
        name: array.view(given[name].dtype).reshape(given[name].shape)
        if isinstance(given.get(name), np.ndarray)
        else array
        for name, array in found.items()
    }


def _counts(lines: list[tuple[str, int, dict[str, int]]]) -> Counts:
    by_line = {Location(file, line): LineCounts(**counts) for file, line, counts in lines}
    total = LineCounts()
    for counts in by_line.values():
        total.add(counts)
    return Counts(total, by_line)


def _hazard(found: Mapping[str, Any]) -> Hazard:
    other, element = found["otherLocation"], found["element"]
    return Hazard(
        kind=found["kind"],
        location=Location(*found["location"]),
        message=found["message"],
        block=tuple(found["block"]),
        thread=tuple(found["thread"]),
        array=found["array"],
        element=None if element is None else tuple(element),
        other_thread=found["otherThread"] and tuple(found["otherThread"]),
        other_location=other and Location(*other),
        across_warps=found["acrossWarps"],
    )


def _trace(found: Mapping[str, Any]) -> Trace:
    return Trace(
        arrays=found["arrays"],
        columns=_columns(found["columns"]),
        complete=found["complete"],
        faults=[Fault(**fault) for fault in found["faults"]],
        products=_columns(found["products"]),
    )


def _columns(found: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    return {name: one.astype(_COLUMNS.get(name, np.int32)) for name, one in found.items()}


def _request(found: Mapping[str, Any]) -> WarpRequest:
    array = found["array"]
    return WarpRequest(
        line=found["line"],
        space=found["space"],
        array=NamedArray(
            array["name"], array["start"], array["bytes"], shape=tuple(array["shape"])
        ),
        is_load=found["isLoad"],
        width=found["width"],
        addresses=tuple(found["addresses"]),
        window=found["window"],
    )
