"""The data of the widgets with roofs, and how optional keys are filled in."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError

LEVEL_NAMES = {
    "dram": "DRAM",
    "l2": "L2",
    "l1": "L1",
    "shared": "Shared memory",
    "register": "Registers",
}


class Level(TypedDict):
    """The bandwidth of one memory level of a GPU: a slanted roof."""

    id: str  # "dram", "l2", "l1", "shared" or "register": gives the hue
    gbs: float  # 10⁹ bytes per second
    label: NotRequired[str]  # default: the level's name
    source: NotRequired[str]  # "data sheet", or "measured, <GPU>, <date>"
    measured: NotRequired[bool]  # default False: drawn thin and dashed


class Peak(TypedDict):
    """A rate of arithmetic of a GPU: a flat roof."""

    gflops: float
    source: NotRequired[str]
    measured: NotRequired[bool]


class Gpu(TypedDict):
    """A GPU's roofs.

    A level may stand twice in ``levels``, measured and from the data sheet; so may a peak, the
    second in ``other_peaks``. Where both exist the measured one is *the* roof that points are
    compared with.
    """

    id: str
    name: str
    peak_gflops: float
    levels: list[Level]
    peak_source: NotRequired[str]
    peak_measured: NotRequired[bool]
    other_peaks: NotRequired[list[Peak]]


class Point(TypedDict):
    """A kernel's place on the roofline at one memory level of one GPU."""

    kernel: str  # points of one kernel are joined
    gpu: str  # id of a GPU
    level: str  # id of a level
    intensity: float  # FLOP per byte moved at that level
    gflops: float
    kind: Literal["predicted", "measured"]
    label: NotRequired[str]  # what the picture calls the kernel; default: its name
    note: NotRequired[str]  # a sentence for the readout
    href: NotRequired[str]  # the kernel's page
    bound_by: NotRequired[str]  # the unit that bounds the kernel, as a sentence begins with it
    bound_gflops: NotRequired[float]  # at most
    mark: NotRequired[str]  # id of a level, for the outline of the point; default: its level


class ChoosesGpu(traitlets.HasTraits):
    """A part of a widget with GPUs to choose from: ``gpu`` is the id of one of ``gpus``."""

    gpus: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)

    @traitlets.validate("gpu")
    def _check_gpu(self, proposal: Any) -> str:
        gpu, known = str(proposal["value"]), [str(entry["id"]) for entry in self.gpus]
        if gpu not in known:
            raise LabError(f"There is no GPU '{gpu}' here. Choose {', '.join(known)}.")
        return gpu

    @property
    def chosen_gpu(self) -> dict[str, Any]:
        """The GPU that is shown."""
        return next(entry for entry in self.gpus if entry["id"] == self.gpu)


def complete_gpus(gpus: Sequence[Gpu]) -> list[dict[str, Any]]:
    """Return GPUs with every optional key filled in; the roofs to compare with come first.

    In the result ``peaks`` lists all peaks, ``peak_gflops`` is the first of them.
    """
    return [_complete_gpu(gpu) for gpu in gpus]


def complete_points(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return points with every optional key filled in."""
    empty = {"note": "", "href": "", "bound_by": "", "bound_gflops": 0.0}
    return [
        {**empty, "label": point["kernel"], "mark": point["level"], **point} for point in points
    ]


def _complete_gpu(gpu: Gpu) -> dict[str, Any]:
    source = {"source": "data sheet", "measured": False}
    first: Peak = {
        "gflops": gpu["peak_gflops"],
        "source": gpu.get("peak_source", "data sheet"),
        "measured": gpu.get("peak_measured", False),
    }
    peaks: list[Mapping[str, Any]] = [
        {**source, **peak} for peak in (first, *gpu.get("other_peaks", []))
    ]
    peaks.sort(key=lambda peak: not peak["measured"])
    levels: list[Mapping[str, Any]] = [
        {"label": LEVEL_NAMES[level["id"]], **source, **level} for level in gpu["levels"]
    ]
    order = list(LEVEL_NAMES)
    levels.sort(key=lambda level: (order.index(level["id"]), not level["measured"]))
    return {
        **gpu,
        "peak_gflops": peaks[0]["gflops"],
        "peak_source": peaks[0]["source"],
        "peak_measured": peaks[0]["measured"],
        "peaks": peaks,
        "other_peaks": peaks[1:],
        "levels": levels,
    }
