"""What was tried and is no kernel of the book any more, from the runs that measured it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.each_gpu import each_gpu
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.difference import NO_DIFFERENCE, comparison
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.records.gpu_record import Record
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


TRIED: dict[str, list[Idea]] = {
    of: [Idea(**idea) for idea in ideas]
    for of, ideas in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""By a chapter's number or the name of a kernel of today."""


def tried(of: int | str) -> Output:
    """Return a table of ``TRIED`` of a chapter or a kernel, each idea without and with it.

    Raises:
        LabError: no GPU has all of them in its record.
    """
    return each_gpu(lambda: _table(TRIED[str(of)]))


def _table(ideas: Sequence[Idea]) -> Output:
    record = session.book_records()[0]
    lines, sizes = [], []
    for idea in ideas:
        size = (idea.side, idea.side, idea.side)
        base, found = _pair(record, idea, size)
        speeds = [number(base), number(found)]
        lines.append([idea.words, idea.compared or idea.before, *speeds, comparison(found / base)])
        sizes.append(size_text(size))
    return table(
        ["idea", "compared with", "GFLOP/s without", "with it", ""],
        lines,
        numbers=2,
        note=f"{record.gpu.name}, {' and '.join(dict.fromkeys(sizes))}, each pair in one run.",
    )


def no_difference() -> float:
    """Return the share below which two speeds count as equal."""
    return NO_DIFFERENCE


def _pair(record: Record, idea: Idea, size: Size) -> tuple[float, float]:
    """Return GFLOP/s without and with an idea, of the latest run that has both, whatever the code.

    Raises:
        LabError: no run has both.
    """
    for run in sorted(record.runs, key=lambda run: run.date, reverse=True):
        speeds = {one.kernel: one.gflops for one in run.measurements if one.size == size}
        if speeds.keys() >= {idea.before, idea.name}:
            return speeds[idea.before], speeds[idea.name]
    raise LabError(f"{record.gpu.name} has no run of both '{idea.before}' and '{idea.name}'.")
