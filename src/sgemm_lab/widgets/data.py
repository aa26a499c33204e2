"""The data that widgets take, and the plain sentences that refuse what is not such data."""

import math
from collections.abc import Iterable, Mapping
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
    shared_per_block_bytes: NotRequired[int]  # Intensity needs it
    max_threads_per_block: NotRequired[int]  # default 1024


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


class Constant(TypedDict):
    """A tile constant of a kernel and the values that its slider offers."""

    name: str
    value: int
    choices: list[int]
    label: NotRequired[str]
    default: NotRequired[int]  # default: the value


def checked_gpus(gpus: object) -> list[dict[str, Any]]:
    """Return GPUs with every optional key filled in; the roofs to compare with come first.

    In the result ``peaks`` lists all peaks, ``peak_gflops`` is the first of them.

    Raises:
        LabError: something is missing or not a number above zero.
    """
    found = [_checked_gpu(gpu) for gpu in checked_items(gpus, "gpus")]
    if not found:
        raise LabError("A roofline needs at least one GPU: give gpus=[…].")
    _refuse_twins([gpu["id"] for gpu in found], "GPU")
    return found


def checked_points(points: object, gpus: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return points with every optional key filled in.

    Raises:
        LabError: a point names an unknown GPU or level, or its place is not a number above zero.
    """
    all_gpus = {gpu["id"] for gpu in gpus}
    found = []
    for point in checked_items(points, "points"):
        kernel = checked_text(point, "kernel", "A point")
        who = f"The point of kernel '{kernel}'"
        gpu = checked_text(point, "gpu", who)
        if gpu not in all_gpus:
            raise LabError(f"{who} is on GPU '{gpu}', but gpus holds only {_listed(all_gpus)}.")
        kind = point.get("kind")
        if kind not in ("predicted", "measured"):
            raise LabError(f"{who} has kind {kind!r}: write 'predicted' or 'measured'.")
        found.append(
            {
                "kernel": kernel,
                "label": str(point.get("label") or kernel),
                "gpu": gpu,
                "level": _level_id(point.get("level"), who),
                "intensity": checked_number(point, "intensity", who),
                "gflops": checked_number(point, "gflops", who),
                "kind": kind,
                "note": str(point.get("note") or ""),
                "href": str(point.get("href") or ""),
                "bound_by": str(point.get("bound_by") or ""),
                "bound_gflops": float(point.get("bound_gflops") or 0.0),
                "mark": _level_id(point.get("mark") or point.get("level"), who),
            }
        )
    return found


class ChoosesGpu(traitlets.HasTraits):
    """A part of a widget with GPUs to choose from: ``gpu`` is the id of one of ``gpus``."""

    gpus: Any

    @traitlets.validate("gpu")
    def _check_gpu(self, proposal: Any) -> str:
        return checked_choice(proposal["value"], self.gpus)


class GoesThroughTime(traitlets.HasTraits):
    """A part of a widget with a cursor: ``time`` is where it stands, from 0 on."""

    @traitlets.validate("time")
    def _check_time(self, proposal: Any) -> float:
        if proposal["value"] < 0:
            raise LabError(f"time is {proposal['value']}. It begins at 0.")
        return float(proposal["value"])


def checked_choice(gpu: str, gpus: Iterable[Mapping[str, Any]]) -> str:
    """Return ``gpu`` if it is the id of one of ``gpus``.

    Raises:
        LabError: it is not.
    """
    known = [str(entry["id"]) for entry in gpus]
    if gpu not in known:
        raise LabError(f"There is no GPU '{gpu}' here. Choose {_listed(known)}.")
    return gpu


def _checked_gpu(gpu: Any) -> dict[str, Any]:
    name = checked_text(gpu, "name", "A GPU")
    who = f"GPU '{name}'"
    first = {
        "gflops": checked_number(gpu, "peak_gflops", who),
        "source": gpu.get("peak_source", "data sheet"),
        "measured": gpu.get("peak_measured", False),
    }
    peaks = [
        {
            "gflops": checked_number(peak, "gflops", f"A peak of {who}"),
            "source": str(peak.get("source", "data sheet")),
            "measured": bool(peak.get("measured", False)),
        }
        for peak in (first, *checked_items(gpu.get("other_peaks", []), "other_peaks"))
    ]
    peaks.sort(key=lambda peak: not peak["measured"])
    levels = []
    for level in checked_items(gpu.get("levels"), f"levels of {who}"):
        identity = _level_id(level.get("id"), f"A level of {who}")
        levels.append(
            {
                "id": identity,
                "label": str(level.get("label") or LEVEL_NAMES[identity]),
                "gbs": checked_number(level, "gbs", f"Level '{identity}' of {who}"),
                "source": str(level.get("source", "data sheet")),
                "measured": bool(level.get("measured", False)),
            }
        )
    if not levels:
        raise LabError(f"{who} has no memory level: give levels=[…] with at least DRAM.")
    order = list(LEVEL_NAMES)
    levels.sort(key=lambda level: (order.index(str(level["id"])), not level["measured"]))
    shared = gpu.get("shared_per_block_bytes")
    return {
        "id": checked_text(gpu, "id", who),
        "name": name,
        "peak_gflops": peaks[0]["gflops"],
        "peak_source": peaks[0]["source"],
        "peak_measured": peaks[0]["measured"],
        "peaks": peaks,
        "other_peaks": peaks[1:],
        "levels": levels,
        "shared_per_block_bytes": None if shared is None else int(shared),
        "max_threads_per_block": int(gpu.get("max_threads_per_block", 1024)),
    }


def checked_items(value: object, name: str) -> list[Any]:
    """Return a list of dictionaries.

    Raises:
        LabError: it is none.
    """
    if not isinstance(value, list | tuple):
        raise LabError(f"{name} must be a list, not {type(value).__name__}.")
    for item in value:
        if not isinstance(item, Mapping):
            raise LabError(f"{name} must hold dictionaries, but one is {item!r}.")
    return list(value)


def checked_text(item: Mapping[str, Any], key: str, who: str) -> str:
    """Return a text of an item; ``who`` begins the sentence that refuses it.

    Raises:
        LabError: it is missing, empty or no text.
    """
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise LabError(f"{who} needs a text under '{key}'.")
    return value


def checked_number(item: Mapping[str, Any], key: str, who: str) -> float:
    """Return a number of an item; ``who`` begins the sentence that refuses it.

    Raises:
        LabError: it is missing, not finite or not above zero.
    """
    value = item.get(key)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise LabError(f"{who} needs a number above zero under '{key}', not {value!r}.")
    return number


def _level_id(value: object, who: str) -> str:
    if value not in LEVEL_NAMES:
        raise LabError(f"{who} has memory level {value!r}. Known are {_listed(LEVEL_NAMES)}.")
    return str(value)


def _refuse_twins(names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise LabError(f"The {what} '{name}' is given twice.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
