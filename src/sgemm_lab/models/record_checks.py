"""Find implausible values in a record: clocks outside a GPU's range, speeds above a bound.

A test checks every record of the book, and ``sgemm-lab add`` checks every file that it adds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.gpu import GPUS, Gpu, is_model
from sgemm_lab.models.bound import CLOCK_TOLERANCE, Bound, bound_of
from sgemm_lab.models.roofline import measured_roofs, sheet_of
from sgemm_lab.records.gpu_record import CUBLAS, CUBLAS_MODES, Measurement, Record, Run, Score
from sgemm_lab.records.store import RECORDS, scores
from sgemm_lab.text import number, percent, size_text, tenths_percent

CLOCK_MARGIN = 1.25
"""Limit of the SM clock over the boost clock that the driver reports as the maximum. A GeForce
exceeds it by a little over 20 %."""
SLOW_CLOCK = 0.5
"""Share of the maximum clock below which the GPU was throttled."""
SLOW_LIBRARY = 0.2
"""Share of the FP32 peak that cuBLAS exceeds at large cubes on every idle GPU."""
DRAM_RANGE = (0.7, 1.02)
"""Plausible measured DRAM bandwidth, as shares of the data sheet's."""

_LARGE = 4096
"""Smallest extent of a product that fills a GPU."""


@dataclass(frozen=True)
class Finding:
    """An implausible value in a record."""

    sentence: str
    """Names file, run and values, and says what to check."""
    about: str
    """The date of the run, or the name of the file."""
    certain: bool
    """Whether it is an error. If not, a line of ``records/notes.md`` must name ``about`` and give
    the reason."""


def findings(record: Record) -> list[Finding]:
    """Return the implausible values of a record, clocks first."""
    gpu = sheet_of(record)
    return [
        *_gpu_findings(record, gpu),
        *(found for run in record.runs for found in _clock_findings(record, run)),
        *(_cublas_findings(record, gpu) if gpu else ()),
        *(_bound_finding(record, *pair) for pair in _above_bound(scores_with_bounds(record))),
        *(_memory_findings(record, gpu) if gpu else ()),
    ]


def scores_with_bounds(record: Record) -> Iterator[tuple[Score, Bound]]:
    """Yield the scores of a record that have a bound, with the bound.

    Without a known per-block demand the bound is only partial.
    """
    gpu = sheet_of(record)
    for score in scores([record]) if gpu else ():
        kernel = book_kernel(score.picked or score.kernel)
        limit = bound_of(kernel, score, gpu, record, partial=True) if gpu and kernel else None
        if limit is not None:
            yield score, limit


def _above_bound(pairs: Iterable[tuple[Score, Bound]]) -> Iterator[tuple[Score, Bound]]:
    """Yield for each kernel above its bound the score that exceeds it most."""

    def share(pair: tuple[Score, Bound]) -> float:
        score, limit = pair
        return limit.share(score.gflops)

    worst: dict[str, tuple[Score, Bound]] = {}
    for pair in sorted(pairs, key=share):
        worst[pair[0].kernel] = pair
    yield from (pair for pair in worst.values() if share(pair) > 1 + CLOCK_TOLERANCE)


def _where(record: Record, run: Run | None = None) -> str:
    """Return the file name of a record, with the date of a run."""
    file = RECORDS.path(Path(), record.gpu.name).name
    return f"{file}, run of {run.date}" if run else file


def _gpu_findings(record: Record, gpu: Gpu | None) -> Iterator[Finding]:
    device = record.gpu
    if gpu is None:
        yield Finding(
            f"{_where(record)}: {device.name} has no bounds. The book has no data sheet of it or "
            f"of another GPU of compute capability {device.compute_capability}, or the driver "
            "reports no memory clock. Add a data sheet to gpus.toml.",
            _where(record),
            certain=False,
        )
        return
    sheet = next((one for one in GPUS if is_model(device.name, one)), None)
    if sheet is None:
        return
    compared = {
        "compute capability": (device.compute_capability, sheet.compute_capability),
        "SMs": (device.sms, sheet.sms),
    }
    for name, (by_device, by_sheet) in compared.items():
        if by_device != by_sheet:
            yield Finding(
                f"{_where(record)}: {name} {by_device} by the driver, {by_sheet} by the data sheet "
                f"of the {sheet.name} in gpus.toml. It is another model, or the sheet is wrong.",
                _where(record),
                certain=True,
            )
    ratio = device.max_clock_mhz / sheet.clock_mhz
    if not 1 / CLOCK_MARGIN <= ratio <= CLOCK_MARGIN:
        yield Finding(
            f"{_where(record)}: the highest clock is {number(device.max_clock_mhz)} MHz by the "
            f"driver, {number(sheet.clock_mhz)} MHz by the data sheet of the {sheet.name} in "
            "gpus.toml. It is another model, or the sheet is wrong.",
            _where(record),
            certain=True,
        )


def _clock_findings(record: Record, run: Run) -> Iterator[Finding]:
    seen, most = run.clock_mhz, record.gpu.max_clock_mhz
    if seen is None:
        return
    if seen.max > CLOCK_MARGIN * most:
        yield Finding(
            f"{_where(record, run)}: an SM clock of {number(seen.max)} MHz was read, "
            f"and the driver reports a maximum of {number(most)} MHz. One of the two is wrong: "
            "record the run again.",
            run.date,
            certain=True,
        )
    # Nsight Compute lowers the clock while it counts, so runs without times are not checked.
    elif run.measurements and seen.median < SLOW_CLOCK * most:
        yield Finding(
            f"{_where(record, run)}: the SM clock was {number(seen.median)} MHz, "
            f"{percent(seen.median / most)} of the maximum of {number(most)} MHz that the driver "
            "reports. Check for a power limit, heat, or another card.",
            run.date,
            certain=False,
        )


def _cublas_findings(record: Record, gpu: Gpu) -> Iterator[Finding]:
    """Compare cuBLAS with the arithmetic peak; its per-block demand is unknown."""
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
            text = (
                f"{_where(record, run)}: {name} at {size_text(best.size)} reaches "
                f"{number(best.gflops)} GFLOP/s, {tenths_percent(share)} of the {number(most)} "
                "that the GPU's units can do."
            )
            if share > 1 + CLOCK_TOLERANCE:
                why = "Check its arithmetic, and whether the timer stopped too early."
                yield Finding(f"{text} {why}", run.date, certain=True)
            elif name == CUBLAS and share < SLOW_LIBRARY and _is_large(found):
                why = "Check for another program on the GPU, and for a power limit."
                yield Finding(f"{text} {why}", run.date, certain=False)


def _is_large(found: Iterable[Measurement]) -> bool:
    return any(min(one.size) >= _LARGE for one in found)


def _bound_finding(record: Record, score: Score, limit: Bound) -> Finding:
    share = tenths_percent(limit.share(score.gflops))
    return Finding(
        f"{_where(record, score.run)}: {score.kernel} at {size_text(score.size)} reaches "
        f"{number(score.gflops)} GFLOP/s, {share} of its bound: {limit.unit} allows "
        f"{number(limit.gflops)}. A time or the clock is wrong, or a unit does more on this GPU "
        "than models/bound.py says.",
        score.date,
        certain=True,
    )


def _memory_findings(record: Record, gpu: Gpu) -> Iterator[Finding]:
    dram = next((roof for roof in measured_roofs(record) if roof.level == "dram"), None)
    low, high = DRAM_RANGE
    if dram is not None and not low < dram.value / gpu.dram_gbs < high:
        yield Finding(
            f"{_where(record)}: DRAM was read at {number(dram.value)} GB/s, "
            f"{percent(dram.value / gpu.dram_gbs)} of the {number(gpu.dram_gbs)} by {gpu.source}. "
            f"GPUs reach {percent(low)} to {percent(high)}.",
            _where(record),
            certain=dram.value > gpu.dram_gbs,
        )
