"""Check a matrix product of any CUDA file at the sizes that reach its branches."""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.analysis import count_prepared
from sgemm_lab.external_cuda.arguments import Number
from sgemm_lab.external_cuda.check import (
    SizeResult,
    check_external,
    fitting_tile,
    sizes_of,
    tile_text,
)
from sgemm_lab.external_cuda.findings import WRONG_RESULT, Finding, finding_of
from sgemm_lab.external_cuda.index_overflow import index_overflow
from sgemm_lab.external_cuda.launch import Prepared, Settings, raw_shape
from sgemm_lab.external_cuda.orders import other_orders
from sgemm_lab.external_cuda.report import KernelReport, Options, place_of, verdict_of
from sgemm_lab.external_cuda.severity import of_the_block
from sgemm_lab.kernel import Size

SECONDS, SECONDS_WRONG = 30.0, 8.0
"""Seconds after which no further size of a product is begun; and once a fault was found."""

MOST_TOLD = 3
"""Most sizes of a product whose faults become findings, each of another line."""

ORDERED_PRODUCT = 64**3
"""Largest M·N·K of the size that runs in several orders."""

_WHOLE_TILES = re.compile(r"\b(?:ld|st)\.global\S*\.v\d|\bw?mma\.|\bcp\.async")
"""Instructions of kernels for whole tiles."""

_LARGE = 4096
"""A size whose grid tells how much of C a block covers."""
_MOST_TILE, _EVEN_DEPTH, _ODD_DEPTH = 256, 64, 96
"""The largest tile that is looked at; K of an even and of an odd number of K tiles of 32."""


def takes_sizes(prepared: Prepared, sizes: Sequence[Size] | None) -> bool:
    """Return whether the grid follows M, N and K, or the caller gives the sizes."""
    grid = prepared.kernel.grid
    from_host = prepared.host is not None and not grid
    return bool(sizes) or from_host or any(n in text for text in grid for n in "MNK")


def check_product(prepared: Prepared, options: Options) -> KernelReport:
    """Report on a matrix product, at many sizes."""
    sizes = sizes_of(prepared, options.sizes)
    if options.sizes is None:
        sizes = tuple(dict.fromkeys((*sizes, *_sizes_of_tiles(prepared))))
    results: list[SizeResult] = []
    start = time.process_time()
    for result in check_external(prepared, sizes, seed=options.seed, time_limit=options.time_limit):
        results.append(result)
        limit = SECONDS_WRONG if any(r.fault for r in results) else SECONDS
        if time.process_time() - start > min(limit, options.seconds) and not options.sizes:
            break
    findings, notes = _of_sizes(prepared, results, bool(options.sizes))
    said = [text for text in (prepared.argued, prepared.assumed) if text]
    if not findings:
        in_other_orders, tried = _other_orders(prepared, results, options)
        findings += in_other_orders
        if tried:
            said.append(f"Blocks and warps also ran in other orders: {', '.join(tried)}.")
    if prepared.given and not prepared.arguments_given:
        given = " ".join(map(str, prepared.given))
        said.append(f"Arguments, told by their names and types: {given}.")
    passed = sum(r.passed for r in results)
    refused = [r.refusal for r in results if r.refusal]
    said.append(
        f"C was compared with the exact product at {len(results)} sizes; right at {passed}."
    )
    if len(results) < len(sizes):
        said.append(f"{len(sizes) - len(results)} further sizes were left out to save time.")
    if refused and not passed:
        said.append(f"Not run at {len(refused)} sizes, first: {refused[0]}")
    said += notes
    verdict = verdict_of(findings, "right" if passed else "not run")
    limits = index_overflow(prepared, Settings()) if passed else []
    return KernelReport(
        prepared.opened.name, *place_of(prepared), verdict, tuple(findings), tuple(said),
        tuple(results), tuple(limits),
    )  # fmt: skip


def _other_orders(
    prepared: Prepared, results: Sequence[SizeResult], options: Options
) -> tuple[list[Finding], list[str]]:
    """Run the largest quick size that is right in other orders of blocks and warps."""
    sizes = [(r.m, r.n, r.k) for r in results if r.passed]
    quick = [size for size in sizes if math.prod(size) <= ORDERED_PRODUCT]
    if not quick:
        return [], []
    settings = Settings(count_requests=False, time_limit=options.time_limit)
    done = count_prepared(prepared, max(quick, key=math.prod), (), None, settings)
    return other_orders(done, settings)


def _of_sizes(
    prepared: Prepared, results: Sequence[SizeResult], sizes_given: bool
) -> tuple[list[Finding], list[str]]:
    """Return the findings of a product, each line once, and what is to be said about them."""
    wrong = [r for r in results if r.fault]
    right = any(r.passed for r in results)
    tile = fitting_tile(results)
    guards = guarded_sizes(prepared)
    findings: dict[tuple[str, int], Finding] = {}
    notes = []
    for one in wrong:
        # A kernel without guards is for whole tiles, and its file may use no other sizes.
        at_edge = tile is not None and not (one.complete or _is_guarded(one, tile, guards))
        certain = sizes_given or ((right or prepared.arguments_given) and not at_edge)
        certain |= one.hazard is not None and of_the_block(one.hazard, prepared)
        at = f"At {one.m} × {one.n} × {one.k}: {one.fault}"
        severity: Literal["error", "warning"] = "error" if certain else "warning"
        found = (
            Finding(severity, WRONG_RESULT, at, *place_of(prepared), array="C")
            if one.hazard is None
            else replace(finding_of(one.hazard, prepared, severity), message=at)
        )
        key = (found.severity, found.line)
        if key not in findings and len(findings) < MOST_TOLD:
            findings[key] = found
    if tile is not None:
        notes.append(
            f"Of these sizes it is right exactly where {tile_text(tile)}. Give the sizes that "
            "matter with --size."
        )
    elif wrong and not right and not prepared.arguments_given:
        notes.append("It is right at no size. Say --args if the arguments are others.")
    return list(findings.values()), notes


def _is_guarded(result: SizeResult, tile: tuple[int, int, int], guards: frozenset[str]) -> bool:
    """Return whether the kernel has guards along each axis that the tile does not divide."""
    ragged = {
        name
        for name, side, size in zip(
            "MNK", tile, (result.m, result.n, result.k), strict=True
        )
        if size % side
    }  # fmt: skip
    return ragged <= guards


def guarded_sizes(prepared: Prepared) -> frozenset[str]:
    """Return which of M, N and K the conditions of a kernel name, by its parameters.

    None where it moves vectors or multiplies on tensor cores: there conditions mostly skip whole
    tiles.
    """
    if _WHOLE_TILES.search(prepared.opened.ptx):
        return frozenset()
    found = {
        letter
        for given, parameter in zip(prepared.given, prepared.parameters, strict=True)
        if isinstance(given, Number) and parameter.name in prepared.opened.conditions
        for letter in "MNK"
        if letter in given.text
    }
    return frozenset("MNK" if found and prepared.sizes == 1 else found)


def _sizes_of_tiles(prepared: Prepared) -> list[Size]:
    """Return sizes of an odd and an even number of tiles, and of one row or column more or less.

    Empty where the grid does not say how much of C a block covers.
    """
    try:
        base, wide, high = (
            raw_shape(prepared, size).grid
            for size in (
                (_LARGE, _LARGE, _LARGE), (_LARGE, 2 * _LARGE, _LARGE), (2 * _LARGE, _LARGE, _LARGE)
            )
        )  # fmt: skip
    except LabError:
        return []
    blocks = [1, 1]
    for axis, count in enumerate(base):
        for side, larger in enumerate((high, wide)):
            if larger[axis] > count:
                blocks[side] = count
    m, n = (_LARGE // count for count in blocks)
    if not 1 < max(m, n) <= _MOST_TILE:
        return []
    if prepared.sizes == 1 and not prepared.arguments_given:
        side = max(m, n)
        return [(n, n, n) for n in (side, 2 * side, 3 * side, side + 1, max(1, 2 * side - 1))]
    return [
        (m, n, _ODD_DEPTH), (2 * m, 3 * n, _EVEN_DEPTH),
        # Whole tiles along two axes show what the third one needs.
        (m, 2 * n, _EVEN_DEPTH + 1), (m + 1, n, _EVEN_DEPTH), (2 * m, max(1, n - 1), _ODD_DEPTH),
    ]  # fmt: skip
