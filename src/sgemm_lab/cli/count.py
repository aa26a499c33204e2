"""The command ``count``: simulate a launch on the CPU and count it line by line."""

import argparse
import math
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernel, load_kernel_file
from sgemm_lab.cli.arguments import add_time_limit, natural, size
from sgemm_lab.cli.external import (
    EXTERNAL_GROUP,
    add_expectations,
    add_external_arguments,
    external_kernel,
    fails,
    is_external,
)
from sgemm_lab.cli.printing import blocks_done, print_json, print_table
from sgemm_lab.counting.kernel_counts import Multiplication, count
from sgemm_lab.counting.launch_limits import TIME_LIMIT
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, TARGETS
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda import ExternalRun, Settings, count_external
from sgemm_lab.kernel import Kernel
from sgemm_lab.simulator import Hazard, LineCounts, Result

DESCRIPTION = """Run a kernel on this machine's processor, without a GPU, and count its memory
requests as the hardware counts them. A and B hold whole numbers from -8 to 8, whose product float32
holds exactly, and max_abs_error is the largest difference of C from that product, computed in
float64: 0 for a right kernel, null in JSON where an element is not a number."""

_COLUMNS: tuple[tuple[str, Callable[[LineCounts], int]], ...] = (
    ("global requests", lambda c: c.global_load_requests + c.global_store_requests),
    ("sectors", lambda c: c.global_load_sectors + c.global_store_sectors),
    ("shared requests", lambda c: c.shared_load_requests + c.shared_store_requests),
    ("wavefronts", lambda c: c.shared_load_wavefronts + c.shared_store_wavefronts),
    ("copies", lambda c: c.async_copy_requests),
    ("FLOP", lambda c: c.flop),
    ("barriers", lambda c: c.barriers),
)
SCHEMA = "sgemm-lab.count.1"
"""Schema version in the JSON; incremented when a key changes its meaning or is removed."""

_LEAST_TEXT, _MOST_TEXT = 16, 70
"""Characters of a source line in the table."""


def add_count_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = DESCRIPTION
    parser.add_argument("kernel", metavar="KERNEL", help="a name such as 'tiled', or a .cu file")
    parser.add_argument(
        "--size", type=size, default=(256, 256, 256), metavar="M,N,K",
        help="a size, or one number for a square; default: 256",
    )  # fmt: skip
    parser.add_argument(
        "--arch", choices=TARGETS, default=DEFAULT_TARGET, help="GPU to compile for"
    )
    parser.add_argument(
        "--hazards", action=argparse.BooleanOptionalAction, default=True,
        help="look for races in shared memory, which takes extra time",
    )  # fmt: skip
    parser.add_argument(
        "--schedule", choices=("lockstep", "warps"), default="lockstep",
        help="run a block's threads side by side, or warp after warp (slow)",
    )  # fmt: skip
    parser.add_argument(
        "--order", type=natural, default=None, metavar="SEED",
        help="run blocks, and warps with --schedule warps, in an order drawn with this seed; "
        "for any CUDA file",
    )  # fmt: skip
    add_time_limit(parser, "the launch", TIME_LIMIT)
    other = parser.add_argument_group(EXTERNAL_GROUP)
    add_external_arguments(other)
    add_expectations(other)


def run_count(options: argparse.Namespace) -> int:
    """Count and print; return 1 if C is wrong or a hazard was found, else 0."""
    if is_external(options, options.kernel):
        return _run_external(options)
    kernel = _book_kernel(options.kernel)
    counted = count(
        kernel,
        options.size,
        target=options.arch,
        check_hazards=options.hazards,
        schedule=options.schedule,
        time_limit=options.time_limit,
        progress=blocks_done,
    )
    if options.json:
        print_json(_to_json(counted))
    else:
        _print_lines(counted.result, kernel.source)
        _print_totals(counted.result)
        _print_product(counted)
        _print_findings(counted.result)
    return 1 if counted.wrong or counted.result.hazards else 0


def _run_external(options: argparse.Namespace) -> int:
    kernel = external_kernel(options, options.kernel)
    settings = Settings(
        target=options.arch,
        check_hazards=options.hazards,
        schedule=options.schedule,
        order=options.order,
        time_limit=options.time_limit,
        progress=blocks_done,
    )
    done = count_external(
        kernel,
        options.size,
        expect=tuple(options.expect),
        tolerance=options.tolerance,
        settings=settings,
        other_orders=_takes_orders(options),
    )
    if options.json:
        print_json(_external_json(done))
    else:
        _print_lines(done.result, kernel.pasted.text, kernel.pasted.name)
        _print_totals(done.result)
        print("\n".join(done.sentences))
        if not done.verdicts:
            print("Say what an array should hold with --expect, such as --expect 'y=2*x'.")
        for finding in (*done.findings(), *done.others):
            print(finding)
        if done.tried:
            print(f"Blocks and warps also ran in other orders: {', '.join(done.tried)}.")
    severities: list[str] = [*done.severities, *["information"] * len(done.harmless)]
    severities += [one.severity for one in done.others]
    failing = done.wrong or any(fails(one, options.fail_on) for one in severities)
    return 1 if options.fail_on != "never" and failing else 0


def _takes_orders(options: argparse.Namespace) -> bool:
    return options.hazards and options.order is None and options.schedule == "lockstep"


def _book_kernel(name: str) -> Kernel:
    if not name.endswith(".cu"):
        return load_kernel(name)
    try:
        return load_kernel_file(Path(name))
    except LabError as error:
        raise LabError(
            f"{error} Or say how to launch it: --entry NAME --grid X,Y --block X,Y."
        ) from None


def _to_json(counted: Multiplication) -> dict[str, Any]:
    verdict = "wrong" if counted.wrong else "hazard" if counted.result.hazards else "right"
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "size": list(counted.size),
        "max_abs_error": finite(counted.max_abs_error),
        "wrong_elements": counted.wrong,
        **_found_json(counted.result),
    }


def _found_json(result: Result) -> dict[str, Any]:
    return {
        "hazards": [str(hazard) for hazard in result.hazards],
        "warnings": [str(warning) for warning in result.warnings],
        "findings": [_finding(one) for one in (*result.hazards, *result.warnings)],
        **result.counts.to_json(),
    }


def _finding(hazard: Hazard) -> dict[str, Any]:
    """Return the location of a hazard or a warning, for editors."""
    other = hazard.other_location
    return {
        "kind": hazard.kind,
        "file": hazard.location.file,
        "line": hazard.location.line,
        "other_line": None if other is None else other.line,
        "array": hazard.array,
        "message": str(hazard),
    }


def _external_json(done: ExternalRun) -> dict[str, Any]:
    judged = "right" if done.verdicts else "not judged"
    verdict = "wrong" if done.wrong else "hazard" if done.errors else judged
    found = _found_json(done.result)
    severities: list[str] = [*done.severities, *["warning"] * len(done.result.warnings)]
    severities += ["information"] * len(done.harmless)
    found["findings"] += [_finding(one) for one in done.harmless]
    for finding, severity in zip(found["findings"], severities, strict=True):
        finding["severity"] = severity
    found["findings"] += [asdict(one) for one in done.others]
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "kernel": done.name,
        "grid": list(done.grid),
        "block": list(done.block),
        "arguments": done.arguments,
        "notes": list(done.notes),
        "assumed": list(done.assumed),
        "size": list(done.size),
        "max_abs_error": finite(max((v.max_abs_error for v in done.verdicts), default=0.0)),
        "wrong_elements": sum(verdict.wrong for verdict in done.verdicts),
        "arrays": {
            v.name: {
                "wrong_elements": v.wrong,
                "elements": v.elements,
                "max_abs_error": finite(v.max_abs_error),
            }
            for v in done.verdicts
        },
        "changed_inputs": list(done.changed),
        "cause": done.cause,
        **found,
    }


def finite(number: float) -> float | None:
    """Return a number, or None for infinity and NaN, which JSON lacks."""
    return number if math.isfinite(number) else None


def _print_lines(result: Result, source: str, name: str | None = None) -> None:
    texts = source.splitlines()
    lines = result.counts.lines
    used = [column for column in _COLUMNS if column[1](result.counts.total)]
    rows = []
    main_file = name or (next(iter(lines)).file if lines else "")
    for where, counts in lines.items():
        inside = where.file == main_file and 0 < where.line <= len(texts)
        text = texts[where.line - 1].strip() if inside else where.file
        numbers = [of(counts) for _, of in used]
        if any(numbers):
            rows.append([str(where.line), *(f"{number:,}" for number in numbers), text])
    heads = ["line", *(name for name, _ in used)]
    widths = [max(map(len, column)) for column in zip(heads, *(r[:-1] for r in rows), strict=True)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    room = max(_LEAST_TEXT, min(_MOST_TEXT, room))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
    print_table([*heads, "source"], rows, range(len(heads)))


def _print_totals(result: Result) -> None:
    total = result.counts.total.to_json()
    print()
    for name, number in total.items():
        if number and not name.endswith("_as_written"):
            written = total.get(f"{name}_as_written", number)
            note = f"  (as written in the PTX: {written:,})" if written != number else ""
            print(f"{name.replace('_', ' '):28}{number:>16,}{note}")
    for level, intensity in result.counts.intensity().items():
        print(f"{f'FLOP per byte, {level}':28}{intensity:>16.3f}")
    print()


def _print_product(counted: Multiplication) -> None:
    m, n, k = counted.size
    if counted.wrong:
        print(f"C is WRONG: {counted.wrong:,} of {m * n:,} elements differ from the exact product.")
    else:
        print(f"C is right: all {m * n:,} elements of {m}×{n}×{k} equal the exact product.")


def _print_findings(result: Result) -> None:
    for finding in (*result.hazards, *result.warnings):
        print(finding)
