"""What a GPU's own counters said of one launch, as plain attributes."""

from dataclasses import dataclass, field

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.bound_table import bound
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.issue_slots import slots_panel
from sgemm_lab.records.gpu_record import CUBLAS
from sgemm_lab.text import size_text

_STALLED = "stalled_"


@dataclass(frozen=True)
class Hardware:
    """The recorded counters of a kernel at one size.

    Every counter of ``METRICS`` (:mod:`sgemm_lab.cuda.counters`) is an attribute of its own name,
    such as ``registers`` (per thread) or ``l2_to_l1_bytes`` (of the launch). A counter in percent
    is a share between 0 and 1 under its name without the unit: ``issue_active`` is
    ``issue_active_percent / 100``.
    """

    kernel: str
    size: Size
    gpu: str
    values: dict[str, float] = field(repr=False)

    def __getattr__(self, name: str) -> float:
        """Return a counter.

        Raises:
            LabError: it was not recorded.
        """
        # Not for the names by which Python and IPython ask what an object can do.
        if name.startswith("_") or "values" not in self.__dict__:
            raise AttributeError(name)
        if name in self.values:
            return self.values[name]
        if f"{name}_percent" in self.values:
            return self.values[f"{name}_percent"] / 100
        raise LabError(
            f"The counters of '{self.kernel}' at {size_text(self.size)} have no '{name}'. "
            f"They have {', '.join(sorted(self.values))}."
        )

    def waiting(self, *reasons: str) -> float:
        """Return the share of a warp's time that it waits for some of ``STALL_REASONS``."""
        stalls = {name: value for name, value in self.values.items() if name.startswith(_STALLED)}
        waited = sum(self.__getattr__(_STALLED + reason) for reason in reasons)
        return waited / sum(stalls.values())


def hardware(kernel: str | Kernel, size: AnySize = 4096) -> Hardware:
    """Return the recorded counters of a launch: ``hardware("split").registers``.

    ``"cublas"`` is cuBLAS in FP32.

    Raises:
        LabError: no record has them.
    """
    of, at = CUBLAS if kernel == CUBLAS else kernel_of(kernel), size_of(size)
    name = of if isinstance(of, str) else of.name
    for record in session.book_records():
        found = record.counted(of, at)
        if found is not None:
            return Hardware(name, at, record.gpu.name, found.values)
    raise LabError(
        f"No record has a GPU's counters of '{name}' at {size_text(at)}. "
        "Take them with 'sgemm-lab counters' on a GPU."
    )


def issue_slots(title: str, *names: str | Kernel) -> Output:
    """Draw a bar per kernel: the shares of issue slots that start multiply-adds, others, nothing.

    Of all slots of a launch at 4096³, as in a closing box: instructions as the GPU counted them,
    over its time.

    Raises:
        LabError: a kernel's counters were not recorded.
    """
    bars = {}
    for name in names:
        found, limits = hardware(name), bound(name)
        products = found.ffma_thread_instructions / WARP / found.warp_instructions
        slots = next(cap for cap in limits.bound.caps if cap.label == "issue slots")
        filled = limits.speed / slots.gflops
        bars[kernel_of(name).display_name] = (filled * products, filled)
    return slots_panel(title, bars)
