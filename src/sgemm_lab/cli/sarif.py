"""Findings where developers look: SARIF 2.1.0 for code hosts, annotations in GitHub workflows.

SARIF is OASIS's "Static Analysis Results Interchange Format"; GitHub reads its files as code
scanning alerts.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sgemm_lab import __version__
from sgemm_lab.external_cuda.findings import Finding
from sgemm_lab.external_cuda.report import KernelReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "information": "note"}
_COMMANDS = {"error": "error", "warning": "warning", "information": "notice"}
"""Names of severities in SARIF, and of GitHub's workflow commands."""

Checked = Sequence[tuple[str, Sequence[KernelReport]]]
"""Checked files as the caller named them, with the reports on their kernels."""


def sarif(checked: Checked) -> dict[str, Any]:
    """Return findings as a SARIF log, and kernels that were not run as notifications."""
    results = [_result(name, one) for name, one in _findings(checked)]
    kinds = dict.fromkeys(one["ruleId"] for one in results)
    missed = [
        {"level": "note", "message": {"text": " ".join((f"{report.kernel}:", *report.said))}}
        for _, reports in checked
        for report in reports
        if not report.judged
    ]
    driver = {"name": "sgemm-lab", "version": __version__, "rules": [{"id": one} for one in kinds]}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [
                    {"executionSuccessful": True, "toolExecutionNotifications": missed}
                ],
                "results": results,
            }
        ],
    }


def annotations(checked: Checked) -> Iterator[str]:
    """Yield findings as commands of a GitHub workflow, which shows them at their lines."""
    for name, one in _findings(checked):
        place = f"file={_property(_path(name, one.file))}"
        if one.line:
            place += f",line={one.line}"
        message = one.message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        yield f"::{_COMMANDS[one.severity]} {place},title={_property(one.kind)}::{message}"


def _property(text: str) -> str:
    for letter, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(letter, code)
    return text


def _findings(checked: Checked) -> Iterable[tuple[str, Finding]]:
    for name, reports in checked:
        for report in reports:
            yield from ((name, one) for one in report.findings)


def _result(name: str, one: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": one.kind.replace(" ", "-"),
        "level": _LEVELS[one.severity],
        "message": {"text": one.message},
        "locations": [_location(name, one.file, one.line)],
    }
    if one.other_line:
        found["relatedLocations"] = [_location(name, one.file, one.other_line)]
    return found


def _location(name: str, file: str, line: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _path(name, file)}}
    if line:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _path(name: str, file: str) -> str:
    """Return the path of a file that a finding names: the checked one, or a header near it."""
    path = Path(name)
    header = path.parent / file
    return (path if file == path.name or not header.is_file() else header).as_posix()
