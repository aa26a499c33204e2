"""Launches of what few kernels do: 16-bit floats, modules, images; kernels of other people."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import test_calls_and_variables as modules
import test_global_races as global_races
import test_grid_barriers as grid
import test_rounded_otherwise as rounded
import test_uninitialized_values as uninitialized
import test_write_conflicts as conflicts
from foreign_samples import CASES, arrays_of
from golden_launch import Case
from simulator_kernels import ptx_of
from texture_reads import MORE, READS, USES, whole_source

from sgemm_lab.external_cuda import launch as external
from sgemm_lab.simulator.arguments import Sampling, Struct

DATA = Path(__file__).parents[1] / "data"
SCHEDULES = ("lockstep", "warps")


def of_uninitialized_values() -> Iterator[Case]:
    bodies = {**uninitialized.HARMLESS, **uninitialized.HARMFUL}
    for (name, body), schedule in product(bodies.items(), SCHEDULES):
        yield uninitialized.case(f"{name}, {schedule}", body, schedule)
    for rows in ("row < M", "row < M - 1"):
        yield uninitialized.edge(rows, "lockstep")


def of_write_conflicts() -> Iterator[Case]:
    for (store, *values), head, schedule in product(
        conflicts.STORES.values(), ("", conflicts.FULL), SCHEDULES
    ):
        for value in values:
            yield conflicts.together(store, value, head, schedule)
    for body, head in product(conflicts.SPLIT, ("", conflicts.FULL)):
        yield conflicts.together(body, "", head)


def of_rounding() -> Iterator[Case]:
    for body in (*rounded.FLOATS, *rounded.OTHERS, *rounded.DOUBLES):
        yield rounded.case(body, (rounded.X, rounded.Y, rounded.Z))
    for body in (*rounded.HALVES, *rounded.SINGLE, *rounded.COMPARED):
        yield rounded.case(body, tuple(rounded.WORDS))


def of_measured_approximations() -> Iterator[Case]:
    for body in (*rounded.MEASURED, "div.approx.f32 %d, %a, %b;"):
        yield rounded.case(body, (rounded.X, rounded.Y, rounded.Z))


def of_modules() -> Iterator[Case]:
    """Calls, a struct, variables, a pointer into an array; races and a barrier of the grid."""
    q = Struct(12, tuple((4 * n, "xyz"[n], np.float32(n + 1)) for n in range(3)))
    args = {"q": q, "o": np.zeros(32, "f4"), "r": np.zeros(32, "i4")}
    yield Case("calls", ptx_of(modules.CALLS), "k", (1,), (32,), args)
    options: dict[str, Any] = {"variables": {"coef": np.array([10, 20, 30, 40], "f4")}}
    out = {"o": np.zeros(32, "f4")}
    yield Case("variables", ptx_of(modules.VARIABLES), "k", (2,), (32,), out, 0, options)
    shifted = 'extern "C" __global__ void k(float* o) { o[(int)threadIdx.x - 2] = threadIdx.x; }'
    for start in (8, 4):
        options = {"starts": {"o": start}}
        yield Case(f"from byte {start}", ptx_of(shifted), "k", (1,), (32,), out, 0, options)
    for name, body in (
        *global_races.FINE.items(),
        *((body, body) for body, _ in global_races.NAMED),
    ):
        yield global_races.case(name, body)
    for meet, schedule in product(("everyone();", "__syncthreads();"), SCHEDULES):
        yield grid.case(meet, schedule=schedule)


def of_images() -> Iterator[Case]:
    """A texture or surface each, read at 100 places of 1,024 that an H200 read too."""
    ptx = ptx_of(whole_source())
    for case in (*READS[::4], *MORE[::4]):
        sampling = Sampling(linear=case.linear, normalized=case.normalized, beyond=case.beyond)
        out = np.zeros(case.count * case.numbers, case.result)
        args = {"t": case.image(), "at": case.at(), "o": out, "n": case.count}
        options = {"images": {"t": sampling}, "check_hazards": False}
        yield Case(case.name, ptx, case.kernel, (1,), (128,), args, 0, options)
    for case in USES:
        image, out = case.image(), np.zeros(case.count * case.numbers, case.type)
        args = {"s": image, "w": np.zeros_like(image), "at": case.at(), "o": out, "n": case.count}
        options = {"images": dict.fromkeys("sw", Sampling()), "watch_races_in": ["s", "w"]}
        yield Case(case.name, ptx, case.kernel, (1,), (128,), args, 0, options)


def of_foreign_kernels() -> Iterator[Case]:
    """Kernels as other people write them, with the counters that an H200 had for them."""
    text = (DATA / "foreign_h200.json").read_text(encoding="utf-8")
    for case, launch in zip(CASES, json.loads(text)["launches"], strict=True):
        yield captured(f"{case.name} {case.args or ''}".strip(), case, launch["counters"])


class _CapturedError(Exception):
    pass


def captured(name: str, case: Any, counters: dict[str, int]) -> Case:
    """Return the launch that ``external_cuda`` makes of a kernel, without running it."""
    found: list[Case] = []

    def simulate(
        ptx: str, entry: str, grid: Any, block: Any, args: Any, shared: int, **options: Any
    ) -> None:
        left_out = ("watch", "only_blocks", "progress", "time_limit")
        kept = {option: value for option, value in options.items() if option not in left_out}
        found.append(Case(name, ptx, entry, grid, block, args, shared, kept, counters))
        raise _CapturedError

    prepared = external.prepare(case.kernel())
    with patch.object(external, "simulate", simulate):
        try:
            external.run(
                prepared, case.size, arrays_of(prepared, case, "whole"), external.Settings()
            )
        except _CapturedError:
            return found[0]
    raise AssertionError(f"{name} was not launched")


REQUEST = """
.version 8.0
.target sm_90
.visible .entry k(.param .u64 A, .param .u64 index) {{
.reg .b32 %t, %i, %s, %w<4>; .reg .b64 %a, %x; .reg .pred %p;
.shared .align 128 .b8 tile[16384];
.loc 1 2 0
mov.u32 %t, %tid.x;
mov.u32 %w0, 0; mov.u32 %w1, 0; mov.u32 %w2, 0; mov.u32 %w3, 0;
ld.param.u64 %x, [index]; mul.wide.u32 %a, %t, 4; add.s64 %x, %x, %a;
ld.global.s32 %i, [%x];
setp.lt.s32 %p, %i, 0;
@%p bra END;
mul.lo.s32 %i, %i, {width};
mov.u32 %s, tile; add.s32 %s, %s, %i;
ld.param.u64 %x, [A]; cvt.s64.s32 %a, %i; add.s64 %x, %x, %a;
.loc 1 3 0
{access}
END: ret;
}}
.file 1 "request.cu"
"""
"""One request of one warp, alone at line 3: an index below 0 is a lane that is off."""


def of_hardware_requests() -> Iterator[Case]:
    """One request each, whose wavefronts or sectors an H200 counted."""
    text = (DATA / "warp_requests_h200.json").read_text(encoding="utf-8")
    for one in json.loads(text)["requests"]:
        words = one["bits"] // 32
        names = ", ".join(f"%w{word}" for word in range(words))
        register = f"{{{names}}}" if words > 1 else names
        space, direction = one["access"].split()
        place = "[%s]" if space == "shared" else "[%x]"
        operands = (register, place) if direction == "load" else (place, register)
        vector = f".v{words}" if words > 1 else ""
        opcode = {"load": "ld", "store": "st"}[direction]
        access = f"{opcode}.{space}{vector}.u32 {', '.join(operands)};"
        ptx = REQUEST.format(width=4 * words, access=access)
        index = np.array(one["index"], np.int32)
        args = {"A": np.zeros(4096, np.uint32), "index": index}
        units = {"shared": ("wavefronts", "bank_conflicts"), "global": ("sectors", "requests")}
        name = f"{one['access']} {one['bits']} bits {one['pattern']}"
        hardware = {f"{space}_{direction}_{unit}": one[unit] for unit in units[space]}
        yield Case(name, ptx, "k", (1,), (32,), args, 0, {"check_hazards": False}, hardware)
