"""What a GPU's own counters said of one launch, as plain attributes."""

from dataclasses import dataclass, field

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import SECTOR_BYTES, WARP, WAVEFRONT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
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

    @property
    def waves(self) -> float:
        """Wavefronts of shared loads per multiply-add of a warp."""
        return self.shared_load_wavefronts / (self.ffma_thread_instructions / WARP)

    @property
    def dram_bytes(self) -> float:
        """Bytes that passed DRAM, read and written."""
        return self.dram_read_bytes + self.dram_write_bytes

    def waiting(self, *reasons: str) -> float:
        """Return the share of a warp's time that it waits for some of ``STALL_REASONS``.

        Raises:
            LabError: there is no such reason.
        """
        stalls = {name: value for name, value in self.values.items() if name.startswith(_STALLED)}
        waited = sum(self.__getattr__(_STALLED + reason) for reason in reasons)
        return waited / sum(stalls.values())

    @property
    def moved(self) -> dict[str, float]:
        """Bytes that moved at each level: from DRAM, from L2, out of L1, out of shared memory."""
        wavefronts = self.shared_load_wavefronts + self.shared_store_wavefronts
        return {
            "DRAM": self.dram_bytes,
            "L2": self.l2_to_l1_bytes,
            "L1": SECTOR_BYTES * self.global_load_sectors,
            "shared": WAVEFRONT_BYTES * wavefronts,
        }


def hardware(kernel: Kernel, size: Size) -> Hardware:
    """Return the counters of a kernel at one size from the first of the book's records with them.

    Raises:
        LabError: no record has them.
    """
    for record in session.book_records():
        found = record.counted(kernel, size)
        if found is not None:
            return Hardware(kernel.name, size, record.gpu.name, found.values)
    raise LabError(
        f"No record has a GPU's counters of '{kernel.name}' at {size_text(size)}. "
        "Take them with 'sgemm-lab counters' on a GPU."
    )
