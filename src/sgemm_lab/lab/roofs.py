"""The roofline and intensity widgets, filled with data sheets, records and this session's runs."""

from collections.abc import Sequence

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import GPUS
from sgemm_lab.gpu import Gpu as DataSheet
from sgemm_lab.kernel import Kernel, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.record import Record, scores
from sgemm_lab.roofline import (
    Roof,
    attainable,
    data_sheet_roofs,
    find_record,
    measured_places,
    measured_roofs,
)
from sgemm_lab.widgets import Intensity, Roofline
from sgemm_lab.widgets.data import Constant, Gpu, Level, Peak, Point
from sgemm_lab.widgets.tile_math import CONSTANT_NAMES, Tile

Size = tuple[int, int, int]

SLIDER_CHOICES = {
    "TILE": [2, 4, 8, 16, 32],
    "BM": [1, 8, 16, 32, 64, 128, 256],
    "BN": [1, 8, 16, 32, 64, 128, 256],
    "BK": [1, 4, 8, 16, 32, 64, 128],
    "TM": [1, 2, 4, 8, 16],
    "TN": [1, 2, 4, 8, 16],
}


def roofs_of_all_gpus() -> list[Gpu]:
    """Return the roofs of every GPU that the book has a data sheet of, measured ones included."""
    return [_gpu(sheet, find_record(session.all_records(), sheet)) for sheet in GPUS]


def roofline(names: Sequence[str], size: Size, gpu: str, hide: Sequence[str]) -> Roofline:
    """Return the roofline widget, kernels at the places that were predicted and measured."""
    points: list[Point] = []
    for name in names:
        points += _points(load_kernel(name), size)
    return Roofline(roofs_of_all_gpus(), points, gpu=gpu, hidden_levels=list(hide))


def intensity(name: str, gpu: str, *, predict: bool) -> Intensity:
    """Return the intensity widget with sliders over a kernel's own tile constants.

    Raises:
        LabError: the kernel has no tile constants.
    """
    kernel = load_kernel(name)
    constants: list[Constant] = [
        {
            "name": constant.name,
            "value": constant.value,
            "label": constant.label,
            "choices": sorted({*SLIDER_CHOICES[constant.name], constant.value}),
        }
        for constant in kernel.constants
        if constant.name in CONSTANT_NAMES
    ]
    if not constants:
        raise LabError(f"The kernel '{name}' has no tile constants, so there is nothing to slide.")
    return Intensity(constants, roofs_of_all_gpus(), gpu=gpu, predict=predict)


def _gpu(sheet: DataSheet, record: Record | None) -> Gpu:
    roofs = data_sheet_roofs(sheet) + (measured_roofs(record) if record else [])
    peaks = sorted((r for r in roofs if r.level == "peak"), key=lambda roof: not roof.measured)
    levels: list[Level] = [
        {"id": r.level, "gbs": r.value, "source": r.source, "measured": r.measured}
        for r in roofs
        if r.level != "peak"
    ]
    others: list[Peak] = [
        {"gflops": peak.value, "source": peak.source, "measured": peak.measured}
        for peak in peaks[1:]
    ]
    return {
        "id": sheet.id,
        "name": sheet.name,
        "peak_gflops": peaks[0].value,
        "peak_source": peaks[0].source,
        "peak_measured": peaks[0].measured,
        "other_peaks": others,
        "levels": levels,
        "shared_per_block_bytes": sheet.shared_per_block,
        "max_threads_per_block": sheet.threads_per_block,
    }


def _points(kernel: Kernel, size: Size) -> list[Point]:
    """Predict a kernel's place on every GPU; add its measured places where there are any."""
    tile = Tile.from_constants(_reusing(kernel))
    points: list[Point] = []
    for sheet in GPUS:
        record = find_record(session.all_records(), sheet)
        roofs = measured_roofs(record) if record else []
        roofs = roofs or data_sheet_roofs(sheet)
        asked = tile.block_intensity
        points.append(
            {
                "kernel": kernel.name,
                "label": kernel.name,
                "gpu": sheet.id,
                "level": "dram",
                "intensity": asked,
                "gflops": attainable(roofs, "dram", asked),
                "kind": "predicted",
                "note": "if every byte that the threads ask for came from DRAM",
            }
        )
        if record is not None:
            points += _measured(record, sheet.id, kernel, size, roofs)
    return points


def _measured(
    record: Record, gpu: str, kernel: Kernel, size: Size, roofs: Sequence[Roof]
) -> list[Point]:
    known = {(s.kernel, s.m, s.n, s.k): s for s in scores([record])}
    score = known.get((kernel.name, *size))
    if score is None:
        return []
    found: list[Point] = []
    for place in measured_places(record, kernel.name, score.gflops, size):
        if place.level == "l1" and not any(roof.level == "l1" for roof in roofs):
            continue
        found.append(
            {
                "kernel": kernel.name,
                "label": kernel.name,
                "gpu": gpu,
                "level": place.level,
                "intensity": place.intensity,
                "gflops": place.gflops,
                "kind": "measured",
                "note": f"{place.note}; {score.date[:10]}",
            }
        )
    return found


def _reusing(kernel: Kernel) -> dict[str, int]:
    """Return the constants that set a kernel's reuse: none if it keeps no tile on the chip.

    A kernel without shared memory and without a thread tile reads every operand from global
    memory, whatever the shape of its blocks.
    """
    tiled = "__shared__" in kernel.source or "TM" in kernel.values
    return kernel.values if tiled else {}
