"""Check every kernel of a CUDA file, without being told anything about it.

A matrix product is checked at many sizes. Any other kernel runs with the file's own launch, or an
assumed one. A finding that rests on an assumption is a warning, not an error.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import (
    NOT_JUDGED,
    SAME_VALUE,
    ExternalRun,
    NeverEndsError,
    at_empty_rows,
    count_assumed,
    count_prepared,
    lasting,
    prepare_launch,
)
from sgemm_lab.external_cuda.check_product import check_product, takes_sizes
from sgemm_lab.external_cuda.cuda_file import own_kernels, read_sources
from sgemm_lab.external_cuda.findings import ENDLESS, WRONG_RESULT, Finding, finding_of
from sgemm_lab.external_cuda.host_order import findings_of_host
from sgemm_lab.external_cuda.launch import (
    ExternalKernel,
    NoLaunchError,
    Settings,
    UnknownLaunchError,
)
from sgemm_lab.external_cuda.orders import other_orders, skipped_place
from sgemm_lab.external_cuda.references import compare
from sgemm_lab.external_cuda.report import (
    KERNEL_SECONDS,
    KernelReport,
    Options,
    Verdict,
    place_of,
    verdict_of,
)
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import DeadlockError, EndlessLoopError
from sgemm_lab.text import plural

_LATE = (
    "Left out: the {seconds:g} seconds for the file were over. Check it alone with --entry {entry}."
)

SIZE: Size = (64, 64, 64)
"""M, N and K of a kernel whose arguments name them but which is no product."""

NOT_COMPARED = "Results not compared: nothing says what they should be."
EMPTY_ROWS = "It happens where the last rows, of equal offsets, are empty."
NO_PRODUCT = "It looks like a matrix product, but no launch that was tried makes C the product."
OFFER = (
    "To compare results, say what an array should hold, such as --expect 'y = 2*x', or add a "
    "reference to the file: a function or a kernel with the name of the kernel and _cpu, _ref or "
    "_naive behind it."
)


def check_file(
    kernel: ExternalKernel,
    options: Options | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[KernelReport]:
    """Check one kernel if ``kernel`` names an entry, else each kernel of the file.

    Args:
        kernel: the file, and what is known of entry, launch and arguments.
        options: sizes, seed, time limit, expected arrays.
        progress: called with a kernel's name, its number and the number of kernels.

    Raises:
        LabError: the file cannot be read or has no kernel.
    """
    options = options or Options()
    pasted = kernel.pasted
    own = own_kernels(read_sources(pasted))
    entries: list[tuple[str | None, int]] = [(one["name"], one["line"]) for one in own]
    if pasted.entry is not None or len(own) < 2:
        entries = [(pasted.entry, own[0]["line"] if len(own) == 1 else 0)]
    end = time.process_time() + max(options.seconds, options.time_limit)
    for number, (entry, line) in enumerate(entries, 1):
        left = end - time.process_time()
        share = max(left / (len(entries) + 1 - number), min(left, KERNEL_SECONDS))
        if progress is not None:
            progress(entry or "", number, len(entries))
        chosen = replace(kernel, pasted=replace(pasted, entry=entry))
        try:
            if left <= 0:
                raise LabError(_LATE.format(seconds=options.seconds, entry=entry))
            limit = min(options.time_limit, math.ceil(share))
            yield _check(chosen, replace(options, seconds=share, time_limit=limit))
        except LabError as refused:
            if len(entries) == 1:
                raise
            yield KernelReport(entry or "", pasted.name, line, "not run", said=(str(refused),))


def _check(kernel: ExternalKernel, options: Options) -> KernelReport:
    end = time.process_time() + options.seconds
    settings = Settings(count_requests=False, time_limit=options.time_limit)
    size = options.sizes[0] if options.sizes else SIZE
    try:
        prepared = prepare_launch(kernel, settings.target)
    except UnknownLaunchError as unknown:
        try:
            done = count_assumed(unknown, size, options.expect, options.tolerance, settings)
        except NeverEndsError as stuck:
            return _never_ends(stuck)
        named = unknown.prepared.signature.is_named_product
        wrong = isinstance(unknown, NoLaunchError) and named
        return _of_launch(done, settings, end, [NO_PRODUCT] if wrong else [])
    if prepared.multiplies and not options.expect and takes_sizes(prepared, options.sizes):
        return check_product(prepared, options)
    try:
        done = count_prepared(prepared, size, options.expect, options.tolerance, settings)
    except (EndlessLoopError, DeadlockError) as stuck:
        if not prepared.certain:
            raise
        return _never_ends(NeverEndsError(prepared, stuck))
    return _of_launch(done, settings, end)


def _never_ends(stuck: NeverEndsError) -> KernelReport:
    prepared = stuck.prepared
    place = place_of(prepared)
    at = (stuck.location.file, stuck.location.line) if stuck.location else place
    said = [text for text in (prepared.argued, prepared.assumed) if text]
    finding = Finding("error" if prepared.certain else "warning", ENDLESS, str(stuck), *at)
    verdict = verdict_of([finding], "no fault found")
    return KernelReport(prepared.opened.name, *place, verdict, (finding,), tuple(said))


def _of_launch(
    done: ExternalRun, settings: Settings, end: float, suspicions: Sequence[str] = ()
) -> KernelReport:
    """Report on one launch of a kernel that is no product, or has a single size.

    After ``end``, in processor time, nothing further is begun. ``suspicions`` become warnings.
    """
    prepared = done.prepared
    certain = lasting(done, settings)
    findings = [
        finding_of(one, prepared, "error" if one in certain else None)
        for one in done.result.hazards
    ]
    findings = _with_further(done, findings)
    findings += [finding_of(one, prepared, "warning") for one in done.result.warnings]
    findings += [
        replace(found, message=f"{found.message} {SAME_VALUE}")
        for found in (finding_of(one, prepared, "information") for one in done.harmless)
    ]
    name = prepared.opened.name
    file, line = place_of(prepared)
    findings += findings_of_host(prepared)
    if verdict_of(findings, "right") != "wrong":
        findings += [Finding("warning", WRONG_RESULT, text, file, line) for text in suspicions]
    for verdict in done.verdicts:
        if verdict.wrong:
            known = prepared.certain and (verdict.name != "C" or not prepared.multiplies)
            findings.append(
                Finding(
                    "error" if known or prepared.arguments_given else "warning", WRONG_RESULT,
                    f"{verdict.name} is wrong: {verdict.wrong:,} of {verdict.elements:,} elements "
                    "differ from what is expected.", file, line, array=verdict.name,
                )
            )  # fmt: skip
    for changed in done.changed:
        message = f"It changed {changed}, which it may only read."
        findings.append(Finding("error", WRONG_RESULT, message, file, line, array=changed))
    said = [text for text in done.sentences() if text != NOT_JUDGED]
    said += [f"Also run: {one.prepared.assumed}" for one in done.further]
    compared = bool(done.verdicts)
    if time.process_time() < end and not done.result.hazards:
        for hazard in at_empty_rows(done, settings):
            found = finding_of(hazard, prepared, "warning")
            findings.append(replace(found, message=f"{found.message} {EMPTY_ROWS}"))
    if time.process_time() < end:
        in_other_orders, tried = other_orders(done, settings)
        findings += in_other_orders
        skipped = skipped_place(done, settings)
        findings += [skipped] if skipped else []
        if tried:
            said.append(f"Blocks and warps also ran in other orders: {', '.join(tried)}.")
    if time.process_time() >= end:
        said.append("To save time, other orders or a comparison were left out.")
    elif not compared:
        compared = _compare(done, settings, findings, said)
    clean: Verdict = "right" if compared else "no fault found"
    return KernelReport(name, file, line, verdict_of(findings, clean), tuple(findings), tuple(said))


def _with_further(done: ExternalRun, findings: Sequence[Finding]) -> list[Finding]:
    """Add what further launches of the file show; of two findings of a line the graver is kept."""
    kept = {(one.kind, one.file, one.line): one for one in findings}
    for other in done.further:
        for hazard in other.result.hazards:
            found = finding_of(hazard, other.prepared, "error" if hazard in other.settled else None)
            place = (found.kind, found.file, found.line)
            if place not in kept or kept[place].severity != "error":
                kept[place] = found
    return list(kept.values())


def _compare(
    done: ExternalRun, settings: Settings, findings: list[Finding], said: list[str]
) -> bool:
    """Compare a kernel with a reference in its file and add what was found; False without one."""
    prepared = done.prepared
    if prepared.multiplies or any(one.severity == "error" for one in findings):
        return False
    found, why = compare(prepared, done.size, settings)
    if found is None:
        said += [why] if why else [NOT_COMPARED]
        return False
    name = f"{found.reference.name} (line {found.reference.line})"
    for array, wrong in found.wrong.items():
        count = found.elements[array]
        if wrong:
            certain = prepared.certain and found.certain
            text = f"{array} is wrong: {wrong:,} of {count:,} elements differ from those of {name}."
            findings.append(
                Finding("error" if certain else "warning", WRONG_RESULT, text, *place_of(prepared),
                        array=array)
            )  # fmt: skip
        else:
            said.append(f"{array} is right: all {count:,} elements are those of {name}.")
    for array, wrong in found.special.items():
        text = (
            f"Where inputs hold infinity, NaN and -0, {array} differs from {name} at "
            f"{plural(wrong, 'element')}."
        )
        findings.append(
            Finding("information", WRONG_RESULT, text, *place_of(prepared), array=array)
        )
    return True
