"""The card of a GPU: latency, bandwidth and arithmetic rate, as small kernels measured them."""

import math
import statistics
from functools import partial

from matplotlib.axes import Axes

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import limits_of
from sgemm_lab.gpu import Gpu, find_gpu
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Picture, table
from sgemm_lab.records.gpu_record import Record, clock_mhz
from sgemm_lab.text import bytes_text, number

_SAID = {"register": "FMA", "shared": "shared", "l1": "L1", "l2": "L2", "dram": "DRAM"}


class Card:
    """What one GPU's microbenchmarks found, by level of memory.

    ``latency`` is in clock cycles, ``bandwidth`` in GB/s, ``fma`` in GFLOP/s. "register" is the
    latency of a fused multiply-add, which reads and writes nothing but registers.
    """

    def __init__(self, record: Record) -> None:
        """Read the latest microbenchmarks of a record."""
        self.device = record.gpu
        self.record = record
        self.walk = self._by_parameter("latency.global")
        self.reads = self._by_parameter("bandwidth.read")
        self.strided = self._by_parameter("bandwidth.strided")
        if not self.walk or not self.reads:
            raise LabError(f"The record of {record.gpu.name} has no microbenchmarks.")
        self.run = record.readings("latency.global")[min(self.walk)].run
        l2 = record.gpu.l2_bytes
        in_l2 = [size for size in self.walk if 16 * record.gpu.shared_per_sm <= size * 2 <= l2]
        self.latency = {
            "register": self._single("latency.fma"),
            "shared": self._single("latency.shared"),
            "constant": self._single("latency.constant"),
            "l1": self.walk[min(self.walk)],
            "l2": self.walk[in_l2[0]],
            "dram": self.walk[max(self.walk)],
        }
        self.bandwidth = {
            "shared": self._single("bandwidth.shared"),
            "l1": statistics.median(self._by_parameter("bandwidth.l1").values()),
            "l2": self.reads[max(size for size in self.reads if 2 * size <= l2)],
            "dram": self.reads[max(self.reads)],
            "copy": statistics.median(self._by_parameter("bandwidth.copy").values()),
        }
        self.fma = self._single("rate.fma")

    @property
    def sheet(self) -> Gpu | None:
        """The book's data sheet of this GPU, if it has one."""
        try:
            return find_gpu(self.device.name)
        except LabError:
            return None

    @property
    def lanes(self) -> int:
        """FP32 units of an SM: from the data sheet, else from the measured rate of FMA."""
        if self.sheet is not None:
            return self.sheet.fp32_lanes
        return round(self.fma * 1e3 / (2 * self.device.sms * self.clock_mhz))

    @property
    def threads_per_sm(self) -> int:
        """Maximum number of resident threads of an SM."""
        return limits_of(self.device.compute_capability).threads_per_sm

    @property
    def peak_gflops(self) -> float:
        """Peak FP32 GFLOP/s: SMs × lanes × 2 FLOP × highest clock."""
        return self.device.sms * self.lanes * 2 * self.device.max_clock_mhz / 1e3

    @property
    def note(self) -> str:
        """Where the numbers come from."""
        return session.provenance(self.device, self.run)

    def reached(self, what: str) -> float:
        """Return which share of the data sheet's number was measured; NaN where none is given.

        ``what`` is "fma", or a level of ``bandwidth``: "shared", "dram" or "copy".
        """
        said = _said_by_sheet(self.sheet).get(what)
        measured = self.fma if what == "fma" else self.bandwidth[what]
        return measured / said if said else math.nan

    def table(self) -> Output:
        """Set what was measured beside what the data sheet says."""
        said = _said_by_sheet(self.sheet)
        rows = []
        for name, key, value, unit in (
            ("FP32 arithmetic", "fma", self.fma, "GFLOP/s"),
            ("shared memory, read", "shared", self.bandwidth["shared"], "GB/s"),
            ("L1 cache, read", "l1", self.bandwidth["l1"], "GB/s"),
            ("L2 cache, read", "l2", self.bandwidth["l2"], "GB/s"),
            ("DRAM, read", "dram", self.bandwidth["dram"], "GB/s"),
            ("DRAM, copy", "copy", self.bandwidth["copy"], "GB/s"),
        ):
            sheet_value = said.get(key)
            rows.append(
                [
                    name,
                    f"{number(value)} {unit}",
                    f"{number(sheet_value)} {unit}" if sheet_value else "not given",
                    f"{self.reached(key):.0%}" if sheet_value else "",
                ]
            )
        heads = [self.device.name, "measured", "data sheet", "reached"]
        return table(heads, rows, note=self.note)

    def walk_picture(self) -> Picture:
        """Draw the latency of a pointer chase over its footprint: a staircase of caches."""
        ratio = self.latency["dram"] / self.latency["shared"]
        conclusion = (
            f"On {self.device.name} a load takes {number(self.latency['l1'])} cycles where L1 has "
            f"the value, {number(self.latency['l2'])} where L2 has it, and "
            f"{number(self.latency['dram'])} from DRAM: {ratio:.0f} times as long as from shared "
            "memory."
        )
        title = "Latency over the bytes walked over"
        return Picture(partial(_draw_walk, self), title, conclusion, (7.0, 3.6), 3.4)

    def stride_picture(self) -> Picture:
        """Draw useful bandwidth over the stride between neighbouring threads' elements."""
        strides, useful = list(self.strided), list(self.strided.values())
        factor = useful[strides.index(2)] / useful[strides.index(8)]
        conclusion = (
            f"From stride 2 to 8 the useful bytes per second fall to 1 / {factor:.1f}: each "
            "float brings a whole 32-byte sector with it. At stride 1 DRAM could deliver more, but "
            "a thread asks for only 4 bytes at a time."
        )
        title = "Useful bandwidth over stride"
        return Picture(partial(_draw_stride, self), title, conclusion, (7.0, 3.0), 3.0)

    @property
    def clock_mhz(self) -> float:
        """The SM clock that the run saw, or else the highest that the device names."""
        return clock_mhz(self.device, self.run)

    def _by_parameter(self, benchmark: str) -> dict[int, float]:
        return {
            parameter: read.median
            for parameter, read in sorted(self.record.readings(benchmark).items())
        }

    def _single(self, benchmark: str) -> float:
        found = self._by_parameter(benchmark)
        if not found:
            raise LabError(f"The record of {self.device.name} has no reading of {benchmark}.")
        return next(iter(found.values()))


def newest_card() -> Card:
    """Return this GPU's card if the session measured one, else the first of the book's records."""
    for record in session.all_records():
        if record.readings("latency.global"):
            return Card(record)
    raise LabError("No record has microbenchmarks. Take one with 'sgemm-lab record' on a GPU.")


def measured_card() -> Card:
    """Measure the card of this machine's GPU, once per session; without a GPU read the records."""
    if session.measures() and not any(record.readings("rate.fma") for record in session.here()):
        session.measure_here([], [], micro=True)
    return newest_card()


def _said_by_sheet(sheet: Gpu | None) -> dict[str, float]:
    if sheet is None:
        return {}
    return {
        "copy": sheet.dram_gbs,
        "dram": sheet.dram_gbs,
        "shared": sheet.shared_gbs,
        "fma": sheet.peak_gflops,
    }


def _draw_walk(card: Card, ax: Axes, phone: bool) -> None:
    sizes = list(card.walk)
    ax.plot(sizes, list(card.walk.values()), "o-", color=style.KERNEL, markersize=4)
    # To the left, where a phone shows them first.
    for key in ("register", "shared"):
        ax.axhline(card.latency[key], color=style.LEVEL_COLOURS[key], linewidth=1.4)
        ax.annotate(
            f"{_SAID[key]}: {number(card.latency[key])} cycles",
            (sizes[0], card.latency[key]), xytext=(0, -4), textcoords="offset points",
            color=style.LEVEL_COLOURS[key], ha="left", va="top", fontsize=9,
        )  # fmt: skip
    for key, place in (("l1", 0), ("l2", len(sizes) // 2 - 1), ("dram", len(sizes) - 1)):
        ax.annotate(
            f"{_SAID[key]}: {number(card.latency[key])}", (sizes[place], card.latency[key]),
            xytext=(0, 8), textcoords="offset points", color=style.LEVEL_COLOURS[key],
            ha="left" if place == 0 else "right" if key == "dram" else "center", fontsize=9,
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", ylabel="cycles per load", xlabel="bytes walked over")
    ticks = sizes[:: 4 if phone else 2]
    ax.set_xticks(ticks, [bytes_text(size) for size in ticks])
    ax.set_ylim(2, 1600)
    ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.grid(axis="y")


def _draw_stride(card: Card, ax: Axes, phone: bool) -> None:
    strides, useful = list(card.strided), list(card.strided.values())
    ax.bar(range(len(strides)), useful, color=style.LEVEL_COLOURS["dram"], width=0.62)
    for place, value in enumerate(useful):
        ax.annotate(
            number(value), (place, value), xytext=(0, 4), textcoords="offset points",
            ha="center", color=style.FOREGROUND, fontsize=9,
        )  # fmt: skip
    ax.set_xticks(range(len(strides)), [str(stride) for stride in strides])
    apart = "from one thread's float to its neighbour's"
    ax.set(xlabel=apart if phone else f"elements {apart}", ylabel="useful GB/s")
    ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.grid(axis="y")
