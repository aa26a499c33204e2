"""The memory-ladder widget: latency and bandwidth of every level of memory, as measured."""

from collections.abc import Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu

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

    State that the reader changes and Python can read or set: ``gpu`` and ``selected``, such as
    "latency dram", or "".
    """

    selected = traitlets.Unicode().tag(sync=True)

    def __init__(self, gpus: Sequence[Memory], *, gpu: str | None = None, **kwargs: Any) -> None:
        super().__init__(gpus=list(gpus), gpu=gpu or gpus[0]["id"], **kwargs)

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
