"""Walks without a barrier: the same steps in another order, and what then goes wrong."""

from collections import Counter
from typing import Any

import pytest
from in_node import in_node
from trace_samples import register_cache, toy, wrong

from sgemm_lab.counting.step_trace import StepTrace
from sgemm_lab.files import PACKAGE

KERNELS: dict[str, tuple[int, int, int]] = {
    "tiled:TILE=2": (4, 4, 4),
    "sliding_window:TILE=2,BK=2": (4, 4, 8),
    "float4:TILE=4,BK=4": (4, 4, 8),
    "double_buffer:BM=64,BN=64,BK=4": (4, 4, 12),
}


@pytest.fixture(name="trace", params=KERNELS)
def one_trace(request: pytest.FixtureRequest) -> StepTrace:
    return toy(request.param, *KERNELS[request.param])


def replayed(trace: StepTrace, left: dict[str, Any], block: int) -> list[dict[str, Any]]:
    """What each step without the barrier reads or makes: one entry per thread and element."""
    entries = []
    for part in left["blocks"][block]:
        step = trace["blocks"][block][part["of"]]
        wrong_ones = {int(entry[0] or 0): entry[1:] for entry in part["wrong"]}
        for i in range(part["count"]):
            at = part["first"] + i
            value, a, b = step["values"][at], *(step[f][at] if step["a"] else None for f in "ab")  # type: ignore[literal-required]
            value, a, b = wrong_ones.get(i, [value, a, b])
            array = trace["arrays"][step["array"]]
            place = (array["name"], step["rows"][at], step["columns"][at])
            entries.append(
                {"space": array["space"], "store": step["store"], "place": place, "a": a, "b": b}
                | {"thread": step["threads"][at], "value": value, "step": part["of"], "at": at}
            )
    return entries


def test_each_barrier_can_be_left_out_and_every_step_is_made_once(trace: StepTrace) -> None:
    lines = [
        trace["first_line"] + i for i, text in enumerate(trace["source"]) if "__syncthreads" in text
    ]
    assert [left["line"] for left in trace["left_out"]] == lines
    assert len(lines) == 2
    for left in trace["left_out"]:
        for block, steps in enumerate(trace["blocks"]):
            made = Counter((e["step"], e["at"]) for e in replayed(trace, left, block))
            assert made == Counter(
                (i, at) for i, s in enumerate(steps) for at in range(len(s["threads"]))
            )


def test_what_a_thread_reads_is_what_was_written_last(trace: StepTrace) -> None:
    for left in trace["left_out"]:
        memory: dict[Any, float | None] = {}
        sums: dict[Any, float | None] = {}
        for entry in replayed(trace, left, 0):
            if entry["space"] == "shared" and entry["store"]:
                memory[entry["place"]] = entry["value"]
            elif entry["space"] == "shared":
                assert entry["value"] == memory.get(entry["place"])
            elif entry["space"] == "register":
                before = sums.get(entry["place"], 0.0)
                known = None not in (before, entry["a"], entry["b"])
                after = before + entry["a"] * entry["b"] if known else None
                assert entry["value"] == after
                sums[entry["place"]] = after


def test_something_goes_wrong_and_the_simulator_says_so(trace: StepTrace) -> None:
    for left in trace["left_out"]:
        assert any(part["wrong"] for part in left["blocks"][0])
        assert "with no barrier between" in left["problem"]
    threads = trace["block"][0] * trace["block"][1]
    assert {left["order"] for left in trace["left_out"]} == {"warps" if threads > 32 else "threads"}


def test_where_nobody_shares_no_barrier_is_left_out() -> None:
    assert register_cache()["left_out"] == []  # blocks of one thread
    assert toy("naive", 2, 2, 2)["left_out"] == []
    assert wrong("missing_first_barrier")["left_out"] == []  # it is wrong anyway


def test_only_the_barriers_of_a_line_are_taken_out() -> None:
    ptx = "\t.loc\t1 30 9\n\tbar.sync \t0;\n\tadd.s32 a;\n\t.loc\t1 35 9\n\tbar.sync \t0;\n"
    shorter, unchanged = in_node(
        PACKAGE / "counting" / "barrier_removal.ts",
        [["withoutBarrier", ptx, line] for line in (35, 31)],
    )
    assert shorter == "\t.loc\t1 30 9\n\tbar.sync \t0;\n\tadd.s32 a;\n\t.loc\t1 35 9\n"
    assert unchanged == ptx
