"""Whether a finding depends on what arrays of integers hold.

They may be indices, keys or counts, and the file does not say so where its host code fills them.
What is found with small numbers, with zeros and with ascending numbers is found with any.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import ExternalRun, arrays_at, run_and_weigh
from sgemm_lab.external_cuda.arguments import Array
from sgemm_lab.external_cuda.findings import Finding, finding_of
from sgemm_lab.external_cuda.launch import Arrays, Prepared, Settings


def with_any_contents(
    done: ExternalRun, findings: Sequence[Finding], settings: Settings
) -> list[Finding]:
    """Return findings of a launch; warnings that other contents show as well are errors."""
    prepared = done.prepared
    if not prepared.contents_assumed or not any(one.severity == "warning" for one in findings):
        return list(findings)
    start = arrays_at(prepared, done.size)
    kept = {_key(finding_of(hazard, prepared)) for hazard in done.result.hazards}
    for ascending in (False, True):
        try:
            arrays = _filled(prepared, start, ascending=ascending)
            _, result, _ = run_and_weigh(prepared, done.size, arrays, settings)
        except LabError:
            return list(findings)
        kept &= {_key(finding_of(hazard, prepared)) for hazard in result.hazards}
    return [replace(one, severity="error") if _key(one) in kept else one for one in findings]


def _key(finding: Finding) -> tuple[str, int, str | None]:
    return finding.kind, finding.line, finding.array


def _filled(prepared: Prepared, start: Arrays, *, ascending: bool) -> Arrays:
    values = dict(start.values)
    for one in prepared.given:
        if isinstance(one, Array) and one.use != "out" and prepared.element(one).whole:
            held = values[one.name]
            most = (
                1
                if prepared.element(one).stored.kind == "b"
                else (np.iinfo(prepared.element(one).stored).max)
            )
            numbers = np.arange(held.size) % (int(most) + 1)
            values[one.name] = (numbers if ascending else 0 * numbers).reshape(held.shape) + 0.0
    return Arrays(values, start.unwritten)
