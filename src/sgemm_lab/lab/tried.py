"""What was tried and is no kernel of the book any more, from the runs that measured it."""

from sgemm_lab.catalogue import current_name
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.difference import NO_DIFFERENCE, comparison
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.records.gpu_record import Measurement, Record
from sgemm_lab.text import number, size_text

Idea = tuple[str, str, str, str]
"""In words, the name in the records, the name of the kernel compared with, and what that is."""

TRIED: dict[int, tuple[Idea, ...]] = {
    6: (
        ("Padding alone", "padded", "float4_tile", "float4_tile"),
        ("C stored as float4", "vector_store", "split", "split"),
    ),
    8: (
        (
            "The loops that a larger tile needs, with the old tile of 128 × 128",
            "large_tile",
            "double_buffer",
            "double_buffer",
        ),
        (
            "The large tile with warps of two rows of 16 lanes",
            "large_tile:BN=256,TN=16",
            "warp_tile",
            "warp_tile",
        ),
    ),
    9: (
        (
            "A K tile 16 deep, copied through registers",
            "deep_k_tile:BK=16",
            "column_order",
            "column_order",
        ),
    ),
    10: (
        (
            "Lane map: lanes placed so that no two requests are merged",
            "lane_map",
            "serpentine",
            "serpentine",
        ),
        (
            "An mbarrier for each stage, without producer warps",
            "window_barriers:BK=8,STAGES=8",
            "lane_map",
            "the lane map",
        ),
        (
            "Sums in quads: a store that never runs, to steer the choice of registers",
            "quads",
            "producers",
            "producers",
        ),
        ("Persistent blocks with whole tiles", "persistent", "quads", "the quads"),
        (
            "Bands: blocks walk neighbouring tiles, so that L2 serves more",
            "bands",
            "own_windows",
            "an earlier per_warp_stages",
        ),
    ),
}
"""Ideas of each chapter that are no kernels any more."""


def tried(chapter: int) -> Output:
    """Return a table of a chapter's ``TRIED``: speed at 4096³ with each idea, and without it."""
    size = (SIZE, SIZE, SIZE)
    record = session.book_records()[0]
    lines = []
    for idea, name, before, compared in TRIED[chapter]:
        found, base = _latest(record, name, size), _latest(record, before, size)
        if found is None or base is None:
            lines.append([idea, compared, "not measured", "", ""])
            continue
        ratio = found.gflops / base.gflops
        lines.append([idea, compared, number(base.gflops), number(found.gflops), comparison(ratio)])
    return table(
        ["idea", "compared with", "GFLOP/s of that", "with it", ""],
        lines,
        numbers=2,
        note=f"{record.gpu.name}, {size_text(size)}, the latest run of each.",
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
