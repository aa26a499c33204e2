"""What was tried and is no kernel of the book any more, from the runs that measured it."""

from typing import NamedTuple

from sgemm_lab.catalogue import current_name
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.difference import NO_DIFFERENCE, comparison
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.records.gpu_record import Measurement, Record
from sgemm_lab.text import number, size_text


class Idea(NamedTuple):
    """An idea, and two names in the records: with it, and without."""

    words: str
    name: str
    before: str
    compared: str = ""
    """What ``before`` is called; empty where that is its name."""
    side: int = SIZE
    """Of the square matrices."""


TRIED: dict[int | str, tuple[Idea, ...]] = {
    6: (
        Idea("Padding alone", "padded", "float4_tile"),
        Idea("C stored as float4", "vector_store", "split"),
    ),
    8: (
        Idea(
            "The loops that a larger tile needs, with the old tile of 128 × 128",
            "large_tile",
            "double_buffer",
        ),
        Idea(
            "The large tile with warps of two rows of 16 lanes",
            "large_tile:BN=256,TN=16",
            "warp_tile",
        ),
    ),
    9: (Idea("A K tile 16 deep, copied through registers", "deep_k_tile:BK=16", "column_order"),),
    10: (
        Idea(
            "Sums in quads: a store that never runs, to steer the choice of registers",
            "quads",
            "producers",
        ),
        Idea("Persistent blocks with whole tiles", "persistent", "quads", "the quads"),
        Idea(
            "Bands: blocks walk neighbouring tiles, so that L2 serves more",
            "bands",
            "own_windows",
            "an earlier per_warp_stages",
        ),
        Idea("Bands, at a larger size", "bands", "own_windows", "the same", 16384),
    ),
    "the old tile": (
        Idea(
            "All steps of this page, with the old tile of 128 × 128",
            "column_order:BN=128,TN=8,WM=32",
            "column_order",
        ),
    ),
    "register_prefetch": (
        Idea("Two stages", "register_prefetch:STAGES=2", "register_prefetch"),
        Idea("Four stages", "register_prefetch:STAGES=4", "register_prefetch"),
    ),
    "producers": (
        Idea(
            "Lanes placed so that no two requests for shared memory merge",
            "lane_map",
            "serpentine",
        ),
        Idea(
            "K tiles 8 deep in 8 stages, each with two mbarriers; every warp copies and multiplies",
            "window_barriers:BK=8,STAGES=8",
            "lane_map",
            "the row above",
        ),
        Idea(
            "Four warps that only copy; B is no longer prefetched into registers",
            "producers",
            "window_barriers:BK=8,STAGES=8",
            "the row above",
        ),
    ),
}
"""Ideas of each chapter that are no kernels any more, and the parts of a kernel's step."""


def tried(of: int | str) -> Output:
    """Return a table of ``TRIED`` of a chapter or a kernel, each idea without and with it."""
    records = session.book_records()
    lines, notes = [], []
    for idea in TRIED[of]:
        size = (idea.side, idea.side, idea.side)
        pairs = [(_latest(one, idea.name, size), _latest(one, idea.before, size), one)
                 for one in records]  # fmt: skip
        found, base, record = next((pair for pair in pairs if pair[0] and pair[1]), pairs[0])
        compared = idea.compared or idea.before
        notes.append(f"{record.gpu.name}, {size_text(size)}")
        if found is None or base is None:
            lines.append([idea.words, compared, "not measured", "", ""])
            continue
        ratio = found.gflops / base.gflops
        speeds = [number(base.gflops), number(found.gflops)]
        lines.append([idea.words, compared, *speeds, comparison(ratio)])
    return table(
        ["idea", "compared with", "GFLOP/s of that", "with it", ""],
        lines,
        numbers=2,
        note=f"{' and '.join(dict.fromkeys(notes))}, the latest run of each.",
    )


def no_difference() -> float:
    """Return the share below which two speeds count as equal."""
    return NO_DIFFERENCE


def _latest(record: Record, name: str, size: Size) -> Measurement | None:
    """Return the latest measurement of a kernel, in the book or not, whatever its code."""
    runs = sorted(record.runs, key=lambda run: run.date, reverse=True)
    found = (one for run in runs for one in run.measurements)
    return next(
        (one for one in found if (one.kernel, one.size) == (current_name(name), size)), None
    )
