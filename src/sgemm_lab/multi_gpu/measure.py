"""Measure links and plans on this machine's GPUs: wall times of interleaved variants.

``recorder`` starts it as a process, ``python -m sgemm_lab.multi_gpu.measure``, which a time limit
can end: a hanging transfer blocks its process. It reads requests as JSON and prints one line of
JSON for each: ``item``, in the form of a record, or ``refused``, a message. NCCL reads its settings
once per process, so other settings need another process.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.measuring.interleaved import is_graphed
from sgemm_lab.multi_gpu.engine import COPY, NCCL, Engine, NotInTimeError, Program, wait
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.nccl import communicators, nccl_library, set_block_limit
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.multi_gpu.single_gpu import CUBLAS
from sgemm_lab.multi_gpu.topology import check_count, enable_peer_access
from sgemm_lab.records.gpu_record import five_digits
from sgemm_lab.records.multi_gpu import (
    ONE_WAY,
    RING,
    Case,
    Item,
    LinkCase,
    LinkTimes,
    Piece,
    ProductTimes,
    Timeline,
)
from sgemm_lab.records.schema import decode, encode

PRODUCT, LINK, TIMELINE = "product", "link", "timeline"
"""What a request asks for."""

SECONDS = 2.0
"""Time limit of one case; a started turn is finished."""
MOST_TURNS, LEAST_TURNS = 15, 3
REPLAYS = 20
"""Replays of a short graph per sample, to amortize the host's overhead."""
RUN_LIMIT = 15.0
"""Time limit of one run in seconds."""


def measure_product(case: Case, seconds: float = SECONDS) -> ProductTimes:
    """Measure a case interleaved: overlapped, sequential, without transfers, and one GPU alone.

    Raises:
        LabError: it cannot run here, or C is wrong.
    """
    plan = plan_of(case)
    engine = _engine(case)
    programs = {"overlap": engine.program()}
    if case.gpus > 1:
        programs["serial"] = engine.program(overlap=False)
        programs["products"] = engine.program(transfers=False)
        programs["alone"] = _alone(plan).program()
    else:
        programs["alone"] = _alone(plan).program()
    try:
        for program in programs.values():
            program.run()
            if case.graph:
                program.capture()
                program.run()
        replays = REPLAYS if case.graph and is_graphed(case.size) else 1
        times = _turns(programs, seconds, replays)
        engine.fill_nan()
        programs["overlap"].run()
        worst = engine.check()
    finally:
        for program in programs.values():
            program.release()
    if not worst <= 1:
        raise LabError(f"C is wrong: sampled rows have {worst:.3g} times the rounding bound.")
    rounded = {name: tuple(map(five_digits, samples)) for name, samples in times.items()}
    return ProductTimes(case, worst_share=float(f"{worst:.3g}"), replays=replays, **rounded)


def measure_timeline(case: Case, overlap: bool) -> Timeline:
    """Record start and end of each step of one run, after warm-up runs."""
    program = _engine(case).program(overlap=overlap, timed=True)
    for _ in range(3):
        program.run()
    pieces = tuple(
        Piece(span.gpu, span.what, span.label, *map(five_digits, (max(0.0, span.start), span.end)))
        for span in program.spans()
    )
    return Timeline(case, overlap, pieces)


def measure_link(case: LinkCase) -> LinkTimes:
    """Measure transfers between GPUs, with several sequential transfers per sample.

    Raises:
        LabError: too few GPUs, or no peer access.
    """
    cupy = require_gpu()
    check_count(case.gpus)
    if case.carrier == COPY and case.peer:
        enable_peer_access(case.gpus)
    streams, sources, targets = {}, {}, {}
    for gpu in range(case.gpus):
        with cupy.cuda.Device(gpu):
            streams[gpu] = cupy.cuda.Stream(non_blocking=True)
            sources[gpu] = cupy.ones(case.bytes, "uint8")
            targets[gpu] = cupy.empty(case.bytes, "uint8")
            cupy.cuda.Device().synchronize()
    pairs = _pairs(case)
    send = _nccl_sender if case.carrier == NCCL else _copier
    once = send(pairs, streams, sources, targets, case.bytes)
    repeats = max(1, min(20, 2**28 // case.bytes))
    samples = []
    for number in range(9):
        begin = time.perf_counter()
        for _ in range(repeats):
            once()
        wait(streams.values(), RUN_LIMIT)
        if number >= 2:
            samples.append((time.perf_counter() - begin) / repeats)
    cupy.cuda.runtime.setDevice(0)
    return LinkTimes(case, tuple(map(five_digits, samples)))


def plan_of(case: Case) -> Plan:
    """Return the plan of a case."""
    return make_plan(case.layout, case.size, case.gpus)


def _engine(case: Case) -> Engine:
    return Engine(plan_of(case), inside=case.inside, transport=case.transport, time_limit=RUN_LIMIT)


def local_size(plan: Plan) -> tuple[int, int, int]:
    """Return M, N of the largest part of C on a GPU, and all of K."""
    share = max(plan.shares, key=lambda s: sum(tile.elements for tile in s.results.values()))
    tiles = share.results.values()
    rows = {(tile.row, tile.rows) for tile in tiles}
    columns = {(tile.column, tile.columns) for tile in tiles}
    return sum(r for _, r in rows), sum(c for _, c in columns), plan.size[2]


def _alone(plan: Plan) -> Engine:
    """Return an engine for one GPU's cuBLAS call at the local size of a plan."""
    single = make_plan("rows", local_size(plan), 1)
    return Engine(single, inside=CUBLAS, transport=COPY, time_limit=RUN_LIMIT)


def _turns(programs: dict[str, Program], seconds: float, replays: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in programs}
    end = time.perf_counter() + seconds
    for turn in range(MOST_TURNS):
        if turn >= LEAST_TURNS and time.perf_counter() > end:
            break
        for name, program in programs.items():
            times[name].append(program.run(replays))
    return times


def _pairs(case: LinkCase) -> list[tuple[int, int]]:
    """Return pairs of sender and receiver."""
    if case.pattern == ONE_WAY:
        return [(0, 1)]
    if case.pattern == RING:
        return [(gpu, (gpu + 1) % case.gpus) for gpu in range(case.gpus)]
    return [(0, 1), (1, 0)]


def _copier(
    pairs: Sequence[tuple[int, int]],
    streams: dict[int, Any],
    sources: dict[int, Any],
    targets: dict[int, Any],
    count: int,
) -> Callable[[], None]:
    runtime = require_gpu().cuda.runtime

    def once() -> None:
        for one, other in pairs:
            runtime.memcpyAsync(
                targets[other].data.ptr, sources[one].data.ptr, count, runtime.memcpyDefault,
                streams[other].ptr,
            )  # fmt: skip

    return once


def _nccl_sender(
    pairs: Sequence[tuple[int, int]],
    streams: dict[int, Any],
    sources: dict[int, Any],
    targets: dict[int, Any],
    count: int,
) -> Callable[[], None]:
    nccl, ranks = nccl_library(), communicators(len(streams))

    def once() -> None:
        nccl.groupStart()
        for one, other in pairs:
            ranks[one].send(sources[one].data.ptr, count, nccl.NCCL_UINT8, other, streams[one].ptr)
            ranks[other].recv(
                targets[other].data.ptr, count, nccl.NCCL_UINT8, one, streams[other].ptr
            )
        nccl.groupEnd()

    return once


def main() -> None:
    """Answer all requests."""
    answers = os.fdopen(os.dup(1), "w")  # NCCL and others may print to 1
    os.dup2(2, 1)
    job = json.loads(sys.stdin.read())

    def send(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    send({"ready": True})
    set_block_limit(job["block_limit"])
    for request in job["requests"]:
        try:
            send({"item": encode(_measured(request))})
        except NotInTimeError as fault:
            send({"refused": str(fault)})
            break  # the next request may hang too; the recorder starts another process
        except LabError as fault:
            send({"refused": str(fault)})
        gc.collect()  # free the GPUs' memory
    send({"done": True})
    # Skip the cleanup: a GPU or NCCL may hang.
    os._exit(0)


def _measured(request: dict[str, Any]) -> Item:
    if request["do"] == LINK:
        return measure_link(decode(LinkCase, request["case"]))
    case = decode(Case, request["case"])
    if request["do"] == PRODUCT:
        return measure_product(case)
    return measure_timeline(case, request["overlap"])


if __name__ == "__main__":
    main()
