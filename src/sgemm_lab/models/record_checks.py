"""What looks wrong in a record: clocks that no such GPU runs at, and speeds that nothing allows.

A test asks it of every record of the book, and ``sgemm-lab add`` of every file that it is given.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab.gpu import GPUS, Gpu, is_model
from sgemm_lab.models.bound import CLOCK_TOLERANCE, Bound, bound_of
from sgemm_lab.models.roofline import measured_roofs, sheet_of
from sgemm_lab.records.gpu_record import CUBLAS, CUBLAS_MODES, Measurement, Record, Run, Score
from sgemm_lab.records.store import RECORDS, scores
from sgemm_lab.text import number, percent, size_text, tenths_percent

CLOCK_MARGIN = 1.25
"""How far above its boost clock an SM may run: drivers name that clock as the highest, and a
GeForce goes past it, by a fifth and a little more."""
SLOW_CLOCK = 0.5
"""Share of the highest clock below which something held the GPU back."""
SLOW_LIBRARY = 0.2
"""Share of the FP32 peak that cuBLAS passes at large cubes on every GPU that works freely."""
DRAM_RANGE = (0.7, 1.02)
"""Between which shares of the data sheet's bandwidth DRAM is read."""

_LARGE = 4096
"""Products from here on keep all of a GPU at work."""


@dataclass(frozen=True)
class Finding:
    """What looks wrong in a record."""

    sentence: str
    """Names file, run and values, and says what to look at."""
    about: str
    """The date of the run, or the name of the file."""
    certain: bool
    """Whether it cannot be right. Else it can, and ``records/notes.md`` has to explain it: with a
    line that names what it is about."""


def findings(record: Record) -> list[Finding]:
    """Return what looks wrong in a record, the clocks first; nothing where all is well."""
    gpu = sheet_of(record)
    return [
        *_of_the_gpu(record, gpu),
        *(found for run in record.runs for found in _of_the_clock(record, run)),
        *(_of_the_library(record, gpu) if gpu else ()),
        *(_passed(record, *pair) for pair in _worst(bounded(record))),
        *(_of_memory(record, gpu) if gpu else ()),
    ]


def bounded(record: Record) -> Iterator[tuple[Score, Bound]]:
    """Yield the scores of a record that have a bound, with it.

    Where what a block asks for cannot be told, the bound leaves out what it takes.
    """
    gpu = sheet_of(record)
    for score in scores([record]) if gpu else ():
        limit = bound_of(score, gpu, record, partly=True) if gpu else None
        if limit is not None:
            yield score, limit


def _worst(pairs: Iterable[tuple[Score, Bound]]) -> Iterator[tuple[Score, Bound]]:
    """Yield of each kernel that passes its bound the size at which it does so by most."""

    def share(pair: tuple[Score, Bound]) -> float:
        score, limit = pair
        return limit.share(score.gflops)

    worst: dict[str, tuple[Score, Bound]] = {}
    for pair in sorted(pairs, key=share):
        worst[pair[0].kernel] = pair
    yield from (pair for pair in worst.values() if share(pair) > 1 + CLOCK_TOLERANCE)


def _where(record: Record, run: Run | None = None) -> str:
    """Name the file that a record has in the book, and a run of it."""
    file = RECORDS.path(Path(), record.gpu.name).name
    return f"{file}, run of {run.date}" if run else file


def _of_the_gpu(record: Record, gpu: Gpu | None) -> Iterator[Finding]:
    device = record.gpu
    if gpu is None:
        yield Finding(
            f"{_where(record)}: the book has no data sheet of {device.name}, nor of any GPU of "
            f"compute capability {device.compute_capability}, or the driver names no memory clock. "
            "So it has no bounds. Add a data sheet to gpu.py.",
            _where(record),
            certain=False,
        )
        return
    sheet = next((one for one in GPUS if is_model(device.name, one)), None)
    if sheet is None:
        return
    told = {
        "compute capability": (device.compute_capability, sheet.compute_capability),
        "SMs": (device.sms, sheet.sms),
    }
    for what, (by_device, by_sheet) in told.items():
        if by_device != by_sheet:
            yield Finding(
                f"{_where(record)}: {what} {by_device} by the driver, {by_sheet} by the data sheet "
                f"of the {sheet.name} in gpu.py. It is another model, or the sheet is wrong.",
                _where(record),
                certain=True,
            )
    ratio = device.max_clock_mhz / sheet.clock_mhz
    if not 1 / CLOCK_MARGIN <= ratio <= CLOCK_MARGIN:
        yield Finding(
            f"{_where(record)}: the highest clock is {number(device.max_clock_mhz)} MHz by the "
            f"driver, {number(sheet.clock_mhz)} MHz by the data sheet of the {sheet.name} in "
            "gpu.py. It is another model, or the sheet is wrong.",
            _where(record),
            certain=True,
        )


def _of_the_clock(record: Record, run: Run) -> Iterator[Finding]:
    seen, most = run.clock_mhz, record.gpu.max_clock_mhz
    if seen is None:
        return
    if seen.max > CLOCK_MARGIN * most:
        yield Finding(
            f"{_where(record, run)}: an SM clock of {number(seen.max)} MHz was read, "
            f"and the driver names {number(most)} MHz as the highest. One of the two is wrong: "
            "take the run anew.",
            run.date,
            certain=True,
        )
    # Nsight Compute slows a GPU down while it counts, so a run without times may be slow.
    elif run.measurements and seen.median < SLOW_CLOCK * most:
        yield Finding(
            f"{_where(record, run)}: the SM clock was {number(seen.median)} MHz, "
            f"{percent(seen.median / most)} of the {number(most)} MHz that the driver names as the "
            "highest. It looks wrong: a power limit, heat, or another card?",
            run.date,
            certain=False,
        )


def _of_the_library(record: Record, gpu: Gpu) -> Iterator[Finding]:
    """Hold cuBLAS against the arithmetic alone: what its blocks ask for nobody knows."""
    fmas = {CUBLAS: gpu.fp32_lanes, CUBLAS_MODES["tf32"]: gpu.tf32_fmas}
    fmas[CUBLAS_MODES["fp16"]] = gpu.fp16_fmas
    for run in record.runs:
        clock = max(gpu.clock_mhz, run.clock_mhz.max if run.clock_mhz else 0)
        for name, each in fmas.items():
            found = [one for one in run.measurements if one.kernel == name]
            if not found or not each:
                continue
            best = max(found, key=lambda one: one.gflops)
            most = gpu.sms * each * 2 * clock / 1e3
            share = best.gflops / most
            said = (
                f"{_where(record, run)}: {name} at {size_text(best.size)} reaches "
                f"{number(best.gflops)} GFLOP/s, {tenths_percent(share)} of the {number(most)} "
                "that the GPU's units can do."
            )
            if share > 1 + CLOCK_TOLERANCE:
                why = "Did it multiply in another arithmetic, or was a time taken too early?"
                yield Finding(f"{said} {why}", run.date, certain=True)
            elif name == CUBLAS and share < SLOW_LIBRARY and _is_large(found):
                why = "It looks wrong: did something run beside it, or a power limit hold it back?"
                yield Finding(f"{said} {why}", run.date, certain=False)


def _is_large(found: Iterable[Measurement]) -> bool:
    return any(min(one.size) >= _LARGE for one in found)


def _passed(record: Record, score: Score, limit: Bound) -> Finding:
    share = tenths_percent(limit.share(score.gflops))
    return Finding(
        f"{_where(record, score.run)}: {score.kernel} at {size_text(score.size)} reaches "
        f"{number(score.gflops)} GFLOP/s, {share} of its bound: {limit.unit} allows "
        f"{number(limit.gflops)}. A time or the clock is wrong, or a unit does more on this GPU "
        "than models/bound.py says.",
        score.date,
        certain=True,
    )


def _of_memory(record: Record, gpu: Gpu) -> Iterator[Finding]:
    dram = next((roof for roof in measured_roofs(record) if roof.level == "dram"), None)
    low, high = DRAM_RANGE
    if dram is not None and not low < dram.value / gpu.dram_gbs < high:
        yield Finding(
            f"{_where(record)}: DRAM was read at {number(dram.value)} GB/s, "
            f"{percent(dram.value / gpu.dram_gbs)} of the {number(gpu.dram_gbs)} by {gpu.source}. "
            f"Between {percent(low)} and {percent(high)} is what GPUs reach.",
            _where(record),
            certain=dram.value > gpu.dram_gbs,
        )
