"""The command ``check`` for CUDA files without the book's head comment."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sgemm_lab.cli.external import external_kernel, fails
from sgemm_lab.cli.printing import print_json, print_progress, print_status, result_json
from sgemm_lab.cli.sarif import annotations, sarif
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.check_file import NOT_COMPARED, OFFER, check_file
from sgemm_lab.external_cuda.report import KernelReport, Options
from sgemm_lab.files import write_whole
from sgemm_lab.text import plural

POLL_SECONDS = 0.5
"""How often ``--watch`` looks for a change."""

FILE_SCHEMA = "sgemm-lab.check-file.1"
"""Schema version in ``check FILE --json``; incremented when a key changes its meaning or is
removed."""


def run_check_file(options: argparse.Namespace) -> int:
    """Check and print; return the exit status: 0 no fault, 1 a fault, 2 no kernel was run."""
    if not options.kernels:
        raise LabError("Name the file whose kernels are to be checked.")
    print_status("A file without the book's head comment is simulated on this machine's processor.")
    return _watch(options) if options.watch else _check_once(options)


def _watch(options: argparse.Namespace) -> int:
    """Check again whenever a file changes, until the reader interrupts; return the last status."""
    status, seen = 0, None
    try:
        while True:
            now = [_changed(name) for name in options.kernels]
            if now != seen:
                seen = now
                try:
                    status = _check_once(options)
                except LabError as refused:
                    status = 2
                    print_status(str(refused))
                print_status("Waiting for a change. Ctrl-C ends it.")
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        return status


def _changed(name: str) -> float:
    try:
        return Path(name).stat().st_mtime
    except OSError:
        return 0.0  # an editor replaces it just now


def _check_once(options: argparse.Namespace) -> int:
    checked = [(name, _checked(name, options)) for name in options.kernels]
    reports = [one for _, found in checked for one in found]
    if options.sarif:
        write_whole(options.sarif, json.dumps(sarif(checked), indent=1) + "\n")
    if options.json:
        print_json([_to_json(one) for one in reports])
    else:
        print(_summary(reports))
        if any(NOT_COMPARED in report.said for report in reports):
            print(OFFER)
        if options.annotate:
            print(*annotations(checked), sep="\n")
    return _status(reports, options.fail_on)


def _checked(name: str, options: argparse.Namespace) -> list[KernelReport]:
    """Check one file, and print each kernel when it is done."""
    chosen = Options(
        options.sizes, options.seed, expect=tuple(options.expect), tolerance=options.tolerance,
        **({} if options.time_limit is None else {"time_limit": options.time_limit}),
    )  # fmt: skip

    kernel = external_kernel(options, name)
    reports = []
    try:
        for report in check_file(kernel, chosen, print_progress):
            print_progress("")
            reports.append(report)
            if not options.json:
                _print(report)
    except LabError as refused:
        # Of several files the others are checked all the same.
        if len(options.kernels) == 1:
            raise
        print_status(str(refused))
        reports.append(KernelReport("", Path(name).name, 0, "not run", said=(str(refused),)))
    return reports


def _print(report: KernelReport) -> None:
    print(f"{report.file}, line {report.line}: {report.kernel}: {report.verdict}")
    for text in (*report.findings, *report.said, *report.limits):
        print(f"  {text}".replace("\n", "\n  "))


def _summary(reports: Sequence[KernelReport]) -> str:
    verdicts = [report.verdict for report in reports]
    counts = [f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts)]
    return f"{plural(len(reports), 'kernel')}: {', '.join(counts)}"


def _status(reports: Sequence[KernelReport], fail_on: str) -> int:
    if any(fails(one.severity, fail_on) for report in reports for one in report.findings):
        return 1
    return 0 if any(report.judged for report in reports) else 2


def _to_json(report: KernelReport) -> dict[str, Any]:
    found = asdict(report)
    sizes, limits = [result_json(one) for one in report.sizes], found.pop("limits")
    return {"schema": FILE_SCHEMA, **found, "sizes": sizes, "index_overflow": limits}
