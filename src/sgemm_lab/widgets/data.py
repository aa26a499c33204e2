"""The data of the widgets with roofs, and the choice of a GPU."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

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
    label: str
    source: str  # "data sheet", or "measured, <GPU>, <date>"
    measured: bool  # if not, it is drawn thin and dashed


class Peak(TypedDict):
    """A rate of arithmetic of a GPU: a flat roof."""

    gflops: float
    source: str
    measured: bool


class Gpu(TypedDict):
    """A GPU's roofs.

    A level may stand twice in ``levels``, measured and from the data sheet; so may a peak. Points
    are compared with the first of them, the measured one where both exist.
    """

    id: str
    name: str
    peak_gflops: float
    peaks: list[Peak]
    levels: list[Level]


class Point(TypedDict):
    """A kernel's place on the roofline at one memory level of one GPU."""

    kernel: str
    gpu: str  # id of a GPU
    level: str  # id of a level
    intensity: float  # FLOP per byte moved at that level
    gflops: float
    kind: Literal["predicted", "measured"]
    note: str  # a sentence for the readout, or ""
    bound_by: str  # the unit that bounds the kernel, as a sentence begins with it, or ""
    bound_gflops: float  # at most
    mark: str  # id of a level, for the outline of the point


class ChoosesGpu(traitlets.HasTraits):
    """A part of a widget with GPUs to choose from: ``gpu`` is the id of one of ``gpus``.

    It begins with the first of them.
    """

    gpus: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)

    def __init__(self, gpus: Sequence[Any], **state: Any) -> None:
        super().__init__(**{"gpus": list(gpus), "gpu": gpus[0]["id"], **state})

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
