"""Launches with barriers of all kinds, and with and without hazards."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from golden_launch import Case
from simulator_kernels import (
    GEMMS,
    NAMED,
    PIPELINE,
    SHIFTED_STORE,
    TWO_BRANCHES,
    gemm_inputs,
    kernel_text,
    ptx_of,
)

QUICK = ("lockstep", "warps")
SCHEDULES = (*QUICK, "threads")
TRACED = (5, 6, 7)

FAULTS, STEPS = map(kernel_text, ("faults", "steps"))
LOAD, STORE, LOAD_BYTE, BLOCK, WARP, GROUP, ARRIVE = 0, 1, 4, 5, 6, 7, 8
DRAWN = 20
"""Lists of steps for each form of the kernel."""


def gemm(name: str, *defines: str, size: tuple[int, int, int], **options: Any) -> Case:
    """One of the kernels of the simulator's own tests, such as one with a barrier left out."""
    source, (rows, columns), block, oldest = GEMMS[name]
    m, n, k = size
    return Case(
        " ".join([name, *defines, "×".join(map(str, size)), options["schedule"]]),
        ptx_of(source, oldest, *defines),
        name,
        (-(-n // columns), -(-m // rows)),
        block,
        gemm_inputs(m, n, k),
        2 * 8 * k * 4 if name == "strip" else 0,
        {"unwritten": ["C"], "max_basic_blocks": 20_000, **options},
    )


def small_kernels() -> Iterator[Case]:
    broken = [("tiled", "FIRST_BARRIER="), ("tiled", "SECOND_BARRIER="), ("async", "WAIT=")]
    for (name, *defines), schedule in product([*([name] for name in GEMMS), *broken], SCHEDULES):
        traced = {"trace": True, "products": True, "requests_of": (0, 1), "schedule": schedule}
        yield gemm(name, *defines, size=TRACED, **traced)
        if defines and schedule in QUICK:
            yield gemm(name, *defines, size=(16, 17, 24), schedule=schedule)


def launches() -> Iterator[tuple[str, str, int, int, dict[str, Any]]]:
    """Name, PTX, blocks, threads and arguments of kernels for barriers of all kinds and faults."""
    values = np.arange(384, dtype=np.float32)
    last = "LAST_BARRIER=__syncthreads();"
    for first, end, parts in product(
        ("FIRST_ONLY=", "FIRST_ONLY=__syncthreads();"), (last, "LAST_BARRIER="), (128, 32)
    ):
        ptx = ptx_of(TWO_BRANCHES, "sm_90", first, end)
        yield f"branches {first} {end} {parts}", ptx, 3, 128, {"C": values, "parts": parts}
    for group, threads, distance in (
        ("0", 64, 32),
        ("0", 96, 1),
        ("t/32", 32, 1),
        ("t/32", 32, 32),
    ):
        defines = (f"GROUP={group}", f"THREADS={threads}", f"DISTANCE={distance}")
        yield f"named {' '.join(defines)}", ptx_of(NAMED, "sm_90", *defines), 2, 64, {"C": values}
    a = np.random.default_rng(3).integers(-9, 9, 64 * 7).astype(np.float32)
    pipes = {"": a, "FULL_WAIT=": a, "EMPTY_WAIT=": a, "BYTES=260": a, "BYTES=256": a[:-16]}
    for define, given in pipes.items():
        ptx = ptx_of(PIPELINE, "sm_90", *filter(None, [define]))
        args = {"A": given, "C": np.full(96, np.nan, np.float32), "turns": 7}
        yield f"pipeline {define} of {len(given)}", ptx, 3, 64, args
    uninitialised = ptx_of(PIPELINE.replace("s < STAGES", "s < 1"))
    yield "pipeline without a barrier", uninitialised, 1, 64, {"A": a, "C": values, "turns": 7}
    for by in (0, 1, 20, 1 << 30):
        arrays = {"A": np.arange(80, dtype=np.int32), "B": np.ones((8, 12), np.float32)}
        args = {**arrays, "C": np.zeros(160, np.int32), "by": by}
        yield f"faults {by}", ptx_of(FAULTS), 3, 32, args
    shifted = {"C": np.zeros(32, np.int32), "by": 1}
    yield "shifted store", ptx_of(SHIFTED_STORE), 1, 32, shifted


def all_small_cases() -> list[Case]:
    cases = [*small_kernels()]
    for (name, ptx, blocks, threads, args), schedule in product(launches(), QUICK):
        options = {
            "schedule": schedule,
            "trace": True,
            "unwritten": ["C"],
            "max_basic_blocks": 20_000,
        }
        cases.append(Case(f"{name}, {schedule}", ptx, "k", (blocks,), (threads,), args, 0, options))
    return cases


def drawn_cases() -> Iterator[Case]:
    """Threads that load and store at random, with barriers between at random."""
    for parts, narrow, seed in product((False, True), (False, True), range(DRAWN)):
        defines = [*(["PARTS"] if parts else []), *(["BYTES"] if narrow else [])]
        kinds = [LOAD, LOAD, STORE, STORE, 2, 3, BLOCK, BLOCK, WARP, WARP]
        kinds += [LOAD_BYTE] * narrow + [GROUP, GROUP, ARRIVE] * parts
        random = np.random.default_rng([seed, parts, narrow])
        steps, threads = int(random.integers(2, 9)), int(random.choice([32, 64, 96]))
        if parts:
            threads = max(threads, 64)
        places = random.integers(0, random.choice([2, 8, 32]), (steps, threads))
        # Often each thread has words of its own, and often only some are on.
        own = np.broadcast_to(np.arange(threads) % 32, places.shape)
        places = np.where(random.random((steps, 1)) < 0.4, own, places)
        off = random.random(places.shape) < random.choice([0.0, 0.5, 0.97], (steps, 1))
        if seed % 3 == 0:
            # A few threads that meet again and again: many rules decide who of them is named.
            off = (random.random(places.shape) < 0.5) | ~np.isin(np.arange(threads), [0, 1, 2, 33])
        args = {
            "kinds": random.choice(kinds, steps).astype(np.int32),
            "places": np.where(off, -1, places).astype(np.int32),
            "C": np.zeros(2 * threads, np.int32),
            "steps": steps,
        }
        options = {"schedule": QUICK[seed % 2], "max_basic_blocks": 20_000}
        name = " ".join([*defines, f"seed {seed}"])
        ptx = ptx_of(STEPS, "sm_90", *defines)
        yield Case(name, ptx, "k", (2,), (threads,), args, 0, options)


MEETINGS = {
    "a reader from before __syncwarp() is forgotten": [
        (LOAD, {1}), (WARP, set()), (LOAD, {2}), (STORE, {2}),
    ],
    "one from before it in another warp is not": [
        (LOAD, {33}), (WARP, set()), (LOAD, {2}), (STORE, {2}),
    ],
    "of several who read at once the last one writes": [(LOAD, {0, 1, 2}), (STORE, {2})],
    "who reads and writes alone": [(LOAD, {2}), (STORE, {2}), (LOAD, {2})],
    "a barrier between": [(LOAD, {0, 1, 2}), (BLOCK, set()), (STORE, {2})],
}  # fmt: skip
"""Steps of some threads at one word."""


def meeting_cases() -> Iterator[Case]:
    for (name, steps), defines in product(MEETINGS.items(), ([], ["PARTS"])):
        places = np.full((len(steps), 64), -1, np.int32)
        for row, (_, threads) in zip(places, steps, strict=True):
            row[[*threads]] = 0
        kinds = np.array([kind for kind, _ in steps], np.int32)
        args = {"kinds": kinds, "places": places, "C": np.zeros(64, np.int32), "steps": len(steps)}
        yield Case(
            " ".join([name, *defines]), ptx_of(STEPS, "sm_90", *defines), "k", (1,), (64,), args
        )
