"""What was tried and is no kernel of the book any more, from the runs that measured it."""

from sgemm_lab.catalogue import current_name
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.difference import NO_DIFFERENCE, comparison
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.records.gpu_record import Measurement, Record
from sgemm_lab.text import number, size_text

TRIED = (
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
)
"""Ideas that are no kernels any more: in words, the name in the records, the name of the kernel
compared with, and what that is in words."""


def tried() -> Output:
    """Return a table of ``TRIED`` at 4096³: the speed with each idea, and without it."""
    size = (SIZE, SIZE, SIZE)
    record = session.book_records()[0]
    lines = []
    for idea, name, before, compared in TRIED:
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
