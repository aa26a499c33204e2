"""The roofline widget, filled with data sheets, records and this session's runs."""

from sgemm_lab.formulas.tile import Tile
from sgemm_lab.gpu import GPUS, find_gpu, is_model
from sgemm_lab.gpu import Gpu as DataSheet
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.models.bound import DATA, bound_of
from sgemm_lab.models.roofline import (
    Roof,
    RooflinePoint,
    all_gpus,
    attainable,
    data_sheet_roofs,
    measured_points,
    measured_roofs,
    records_of,
    simulated_points,
)
from sgemm_lab.widgets import Roofline
from sgemm_lab.widgets.data import LEVEL_NAMES, Gpu, Level, Peak, Point


def _known_gpus() -> list[DataSheet]:
    return all_gpus(session.all_records())


def default_gpu() -> str:
    """Return the id of this machine's GPU if the session measured on one that the book knows.

    Otherwise the GPU of the book's first record.
    """
    for record in session.all_records():
        for sheet in _known_gpus():
            if is_model(record.gpu.name, sheet):
                return sheet.id
    return GPUS[0].id


def chosen_gpu(gpu: str | None) -> str:
    """Return the id of the GPU with this id or name, of the book or of a record.

    The default GPU's without one.
    """
    if not gpu:
        return default_gpu()
    found = (sheet.id for sheet in _known_gpus() if sheet.id == gpu or is_model(gpu, sheet))
    return next(found, None) or find_gpu(gpu).id


def roofline(*names: str | Kernel, size: AnySize = 4096, gpu: str | None = None) -> Roofline:
    """Place kernels under the roofs of a GPU, predicted and measured.

    It begins with the memory level whose roof is the lowest over the last measured kernel.

    Args:
        gpu: an id such as "t4", or a name; by default this machine's GPU, or that of the records.
    """
    points = [point for name in names for point in _points(kernel_of(name), size_of(size))]
    gpus = [_gpu(sheet, _measured_roofs(sheet)) for sheet in _known_gpus()]
    return Roofline(gpus, points, gpu=chosen_gpu(gpu))


def _measured_roofs(sheet: DataSheet) -> list[Roof]:
    """Return the roofs of the first record of a GPU that has microbenchmarks."""
    return next(filter(None, map(measured_roofs, records_of(session.all_records(), sheet))), [])


def _gpu(sheet: DataSheet, measured: list[Roof]) -> Gpu:
    # Of two roofs of one level the measured one is compared with, so it comes first.
    roofs = measured + data_sheet_roofs(sheet)
    peaks: list[Peak] = [
        {"gflops": peak.value, "source": peak.source, "measured": peak.measured}
        for peak in roofs
        if peak.level == "peak"
    ]
    levels: list[Level] = [
        {
            "id": name,
            "gbs": roof.value,
            # The two share a pipe, so they share a roof.
            "label": "L1 and shared memory" if name == "shared" else label,
            "source": roof.source,
            "measured": roof.measured,
        }
        for name, label in LEVEL_NAMES.items()
        for roof in roofs
        if roof.level == name
    ]
    peak = peaks[0]["gflops"]
    return Gpu(id=sheet.id, name=sheet.name, peak_gflops=peak, peaks=peaks, levels=levels)


def _points(kernel: Kernel, size: Size) -> list[Point]:
    """Predict a kernel's place on every GPU; add its measured places where there are any."""
    tile = Tile.from_constants(_reusing(kernel))
    points: list[Point] = []
    for sheet in _known_gpus():
        # What was measured stands in for what the data sheet says of the same level.
        known = {roof.level: roof for roof in (*data_sheet_roofs(sheet), *_measured_roofs(sheet))}
        roofs = list(known.values())
        asked = tile.block_intensity
        points.append(
            {
                "kernel": kernel.name,
                "gpu": sheet.id,
                "level": "dram",
                "intensity": asked,
                "gflops": attainable(roofs, "dram", asked),
                "kind": "predicted",
                "note": "if every byte that the threads ask for came from DRAM",
                "bound_by": "",
                "bound_gflops": 0.0,
                "mark": "dram",
            }
        )
        points += _measured(sheet, kernel, size, asked, set(known))
    return points


def _measured(
    sheet: DataSheet, kernel: Kernel, size: Size, asked: float, levels: set[str]
) -> list[Point]:
    """Return the measured places of a kernel: the speed of the first record that has it.

    The bytes come from any record of the same model, for they do not depend on the clock. Where
    no record has the GPU's counters, the kernel has a place at L1 and shared memory alone, by its
    simulated wavefronts; without those, at the intensity that its threads ask for.
    """
    records = records_of(session.all_records(), sheet)
    score = next(filter(None, (record.score(kernel, size) for record in records)), None)
    if score is None:
        return []
    limit = next(filter(None, (bound_of(kernel, score, sheet, record) for record in records)), None)
    pipe = limit.of(DATA) if limit else None
    # L1 and shared memory share a pipe, so both stand under one roof.
    mostly_l1 = pipe is not None and pipe.label == "L1"
    wavefronts = pipe.demand if pipe else 0.0
    counted = (
        measured_points(record, kernel, score.gflops, size, wavefronts) for record in records
    )
    places = (
        next(filter(None, counted), None)
        or simulated_points(kernel, score.gflops, wavefronts)
        or [
            RooflinePoint(
                kernel.name, "dram", asked, score.gflops, "as asked for: no counters of this GPU"
            )
        ]
    )
    return [
        {
            "kernel": kernel.name,
            "gpu": sheet.id,
            "level": place.level,
            "intensity": place.intensity,
            "gflops": place.gflops,
            "kind": "measured",
            "note": f"{place.note}; {score.date[:10]}",
            "mark": "l1" if place.level == "shared" and mostly_l1 else place.level,
            "bound_by": f"{limit.unit[0].upper()}{limit.unit[1:]}" if limit else "",
            "bound_gflops": limit.gflops if limit else 0.0,
        }
        for place in places
        if place.level in levels
    ]


def _reusing(kernel: Kernel) -> dict[str, int]:
    """Return the constants that set a kernel's reuse: none if it keeps no tile on the chip.

    A kernel without shared memory and without a thread tile reads every operand from global
    memory, whatever the shape of its blocks.
    """
    tiled = "__shared__" in kernel.source or "TM" in kernel.values
    return kernel.values if tiled else {}
