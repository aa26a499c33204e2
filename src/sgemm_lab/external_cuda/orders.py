"""Run a launch again with blocks and warps in other orders, and compare.

CUDA promises no order of blocks, nor of warps between barriers. A result that depends on it, or a
hazard that shows in one order only, is reported with the options that reproduce it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import ExternalRun, arrays_at, run_and_weigh
from sgemm_lab.external_cuda.arguments import Array, Matrix, called
from sgemm_lab.external_cuda.findings import ORDER, WRONG_RESULT, Finding, finding_of
from sgemm_lab.external_cuda.launch import Prepared, Settings, run, shape_at
from sgemm_lab.external_cuda.references import written_elements
from sgemm_lab.external_cuda.report import place_of
from sgemm_lab.external_cuda.severity import Severity
from sgemm_lab.text import plural

SECONDS = 3.0
"""Time limit of a launch in another order."""

MOST_THREADS = 2**14
"""Most threads of a launch whose warps run one after the other, which is slow."""

TOLERANCE = 1e-3
"""How far floats may be off, relative to the larger of 1 and the value: atomics round anew."""

BLOCKS, WARPS = 1, 2
"""Seeds: of the order of blocks alone, and of blocks and warps."""

_ATOMIC = re.compile(r"\batom\.\S+\s+(%\w+)")
"""An atomic and the register for what it found."""


def other_orders(done: ExternalRun, settings: Settings) -> tuple[list[Finding], list[str]]:
    """Return what other orders than that of a launch show, and the options of the orders.

    Empty where the launch has hazards: what else happens then follows from them.
    """
    if done.result.hazards:
        return [], []
    prepared = done.prepared
    findings: list[Finding] = []
    tried = []
    for one in _orders(done, settings):
        options = options_of(one)
        try:
            arrays = arrays_at(prepared, done.size)
            after, result, _ = run_and_weigh(prepared, done.size, arrays, one)
        except LabError:
            continue
        tried.append(options)
        found = [finding_of(hazard, prepared, order=options) for hazard in result.hazards]
        found = found or [
            _different(prepared, name, count, options)
            for name, count in _differences(done, after).items()
        ]
        findings += [new for new in found if all(new.kind != old.kind for old in findings)]
    return findings, tried


def options_of(settings: Settings) -> str:
    """Return the options of the command that run a launch in an order."""
    schedule = "" if settings.schedule == "lockstep" else f"--schedule {settings.schedule} "
    return f"{schedule}--order {settings.order}"


def _orders(done: ExternalRun, settings: Settings) -> Sequence[Settings]:
    shape = shape_at(done.prepared, done.size)
    blocks, threads = int(np.prod(shape.grid)), int(np.prod(shape.block))
    limit = min(SECONDS, settings.time_limit)
    quick = replace(settings, count_requests=False, time_limit=limit, progress=None)
    orders = []
    if blocks > 1:
        orders.append(replace(quick, order=BLOCKS))
    # Warps that wait for other blocks run side by side only.
    waits = "%envreg1" in done.prepared.opened.compiled.special_registers
    if blocks * threads <= MOST_THREADS and not waits:
        orders.append(replace(quick, schedule="warps", order=WARPS))
    return orders


def _differences(done: ExternalRun, after: dict[str, np.ndarray]) -> dict[str, int]:
    """Count the elements that differ, by array."""
    written = [
        called(one)
        for one in done.prepared.given
        if (isinstance(one, Matrix) and one.role == "C")
        or (isinstance(one, Array) and one.use != "in")
    ]
    found = {}
    for name in (*written, *(variable.name for variable in done.prepared.variables)):
        one, other = (arrays[name].ravel().astype("f8") for arrays in (done.after, after))
        with np.errstate(all="ignore"):
            close = np.abs(one - other) <= TOLERANCE * np.maximum(1, np.abs(one))
        count = int((~(close | (one == other) | (np.isnan(one) & np.isnan(other)))).sum())
        if count:
            found[name] = count
    return found


def skipped_place(done: ExternalRun, settings: Settings) -> Finding | None:
    """Return the finding that places counted by an atomic are filled from the second on."""
    prepared = done.prepared
    if done.result.hazards or not _takes_places(prepared):
        return None
    watched = replace(settings, watch=("written",), check_hazards=False)
    after, result = run(prepared, done.size, arrays_at(prepared, done.size), watched)
    for counter, begun in done.before.items():
        changed = np.flatnonzero(begun != after[counter])
        if changed.size != 1:
            continue
        first, end = int(begun.flat[changed[0]]), int(after[counter].flat[changed[0]])
        for name in done.before:
            places = np.flatnonzero(written_elements(result, name, after[name].size))
            if name != counter and end - first == places.size > 1 and places[0] == first + 1:
                text = (
                    f"{counter} counts {end - first:,} places, but of {name} the elements "
                    f"{first + 1:,} to {end:,} are written and not {first:,}. A thread's place is "
                    "the number of those before it, without itself."
                )
                return Finding("warning", WRONG_RESULT, text, *place_of(prepared), array=name)
    return None


def _takes_places(prepared: Prepared) -> bool:
    """Return whether threads take places by an atomic whose result is used."""
    ptx = prepared.opened.ptx
    return any(len(re.findall(rf"{re.escape(r)}\b", ptx)) > 1 for r in _ATOMIC.findall(ptx))


def _different(prepared: Prepared, name: str, count: int, options: str) -> Finding:
    takes_places = _takes_places(prepared)
    differ = f"{plural(count, 'element')} {'differ' if count > 1 else 'differs'}"
    message = f"{name} depends on the order in which blocks and warps run: {differ}."
    if takes_places:
        message += " Threads take places by an atomic; where any order will do, all is well."
    severity: Severity = "information" if takes_places else "warning"
    return Finding(severity, ORDER, message, *place_of(prepared), array=name, order=options)
