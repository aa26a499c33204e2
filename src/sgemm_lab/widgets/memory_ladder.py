"""The memory-ladder widget: latency and bandwidth of every level of memory, as measured."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.comparisons import memory_words
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import (
    ChoosesGpu,
    checked_choice,
    checked_items,
    checked_number,
    checked_text,
)

NAMES = {
    "register": "registers, a dependent FMA",
    "shared": "shared memory",
    "constant": "constant memory, cached",
    "l1": "L1 cache",
    "l2": "L2 cache",
    "dram": "DRAM",
    "copy": "DRAM, read and written",
}
LATENCIES = ("register", "shared", "constant", "l1", "l2", "dram")
BANDWIDTHS = ("shared", "l1", "l2", "dram", "copy")
UNITS = {"latency": "cycles", "bandwidth": "GB/s"}


class Memory(TypedDict):
    """What was measured of the memory of one GPU."""

    id: str
    name: str
    note: str  # where, when and how it was measured
    sms: int
    clock_mhz: float  # of the SMs, while it was measured
    fma_gflops: float  # rate of FP32 arithmetic, two FLOP per FMA
    latency: dict[str, float]  # SM cycles, by LATENCIES
    bandwidth: dict[str, float]  # GB/s of all SMs together, by BANDWIDTHS


class MemoryLadder(ChoosesGpu, LabWidget):
    """Levels of memory from the registers down to DRAM, on logarithmic axes.

    Args:
        gpus: what was measured, see :class:`Memory`.
        gpu: id of the GPU to begin with. Default: the first.

    State that the reader changes and Python can read or set: ``gpu``, ``show`` ("both",
    "latency" or "bandwidth") and ``selected``, such as "latency dram", or "".

    Raises:
        LabError: the data are not what they should be; the message says where.
    """

    gpus: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    show = traitlets.Enum(["both", "latency", "bandwidth"], "both").tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)

    def __init__(self, gpus: Sequence[Memory], *, gpu: str | None = None, **kwargs: Any) -> None:
        checked = _checked_gpus(list(gpus))
        super().__init__(
            gpus=checked, gpu=checked_choice(gpu or checked[0]["id"], checked), **kwargs
        )

    @traitlets.validate("gpus")
    def _check_gpus(self, proposal: Any) -> list[dict[str, Any]]:
        return _checked_gpus(proposal["value"])

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        known = {"", *(f"{kind} {level}" for kind in UNITS for level in _levels(kind))}
        if proposal["value"] not in known:
            raise LabError(f"There is no '{proposal['value']}' here. Write it like 'latency dram'.")
        return str(proposal["value"])

    @property
    def chosen_gpu(self) -> dict[str, Any]:
        """The GPU that is shown."""
        return next(entry for entry in self.gpus if entry["id"] == self.gpu)

    @property
    def shown(self) -> list[str]:
        """What is shown: "latency", "bandwidth" or both."""
        return list(UNITS) if self.show == "both" else [self.show]

    @property
    def alt(self) -> str:
        """How far apart the ends of the ladder are."""
        return memory_words(self.chosen_gpu)

    def table(self) -> str:
        """Return latencies and bandwidths of the chosen GPU as HTML tables."""
        gpu = self.chosen_gpu
        clock = float(gpu["clock_mhz"])
        cycles = [
            [
                NAMES[level],
                number(gpu["latency"][level]),
                number(gpu["latency"][level] / clock * 1e3),
            ]
            for level in LATENCIES
        ]
        bytes_per_clock = 1e3 / clock / gpu["sms"]
        rates = [
            [
                NAMES[level],
                number(gpu["bandwidth"][level]),
                number(gpu["bandwidth"][level] * bytes_per_clock),
            ]
            for level in BANDWIDTHS
        ]
        caption = f"Latency on {gpu['name']}. {gpu['note']}"
        return html_table(caption, ["From", "cycles", "ns"], cycles) + html_table(
            f"Bandwidth on {gpu['name']}, all SMs together",
            ["From", "GB/s", "bytes per clock and SM"],
            rates,
        )


def _levels(kind: str) -> tuple[str, ...]:
    return LATENCIES if kind == "latency" else BANDWIDTHS


def _checked_gpus(gpus: object) -> list[dict[str, Any]]:
    found = []
    for gpu in checked_items(gpus, "gpus"):
        name = checked_text(gpu, "name", "A GPU")
        who = f"GPU '{name}'"
        values = {}
        for kind, unit in UNITS.items():
            given = gpu.get(kind)
            if not isinstance(given, Mapping):
                raise LabError(f"{who} needs a dictionary of {unit} by level under '{kind}'.")
            whose = f"The {kind} of {who}"
            values[kind] = {level: checked_number(given, level, whose) for level in _levels(kind)}
        found.append(
            {
                "id": checked_text(gpu, "id", who),
                "name": name,
                "note": checked_text(gpu, "note", who),
                "sms": int(checked_number(gpu, "sms", who)),
                "clock_mhz": checked_number(gpu, "clock_mhz", who),
                "fma_gflops": checked_number(gpu, "fma_gflops", who),
                **values,
            }
        )
    if not found:
        raise LabError("A memory ladder needs at least one GPU: give gpus=[…].")
    return found
