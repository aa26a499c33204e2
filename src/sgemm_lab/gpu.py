"""GPUs by name: their limits and the roofs that follow from the data sheet.

Clock, memory bandwidth and cache sizes: NVIDIA's data sheets and architecture white papers of each
GPU. Limits per compute capability: CUDA C++ Programming Guide, "Compute Capabilities".
"""

import difflib
import re
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WAVEFRONT_BYTES


@dataclass(frozen=True)
class Gpu:
    """One GPU model. Clocks in MHz, bandwidth in GB/s (10⁹ B/s), sizes in bytes."""

    id: str
    name: str
    compute_capability: str
    sms: int
    fp32_lanes: int
    """FP32 units of one SM; each finishes one fused multiply-add per clock."""
    clock_mhz: int
    dram_gbs: float
    memory_bus_bits: int
    l2_bytes: int
    shared_per_sm: int
    shared_per_block: int
    threads_per_sm: int
    registers_per_sm: int = 65536
    threads_per_block: int = 1024
    source: str = "data sheet"
    """Who says so."""

    @property
    def peak_gflops(self) -> float:
        """FP32 GFLOP/s by arithmetic: SMs × lanes × 2 FLOP × clock."""
        return self.sms * self.fp32_lanes * 2 * self.clock_mhz / 1e3

    @property
    def shared_gbs(self) -> float:
        """Shared-memory GB/s by arithmetic: SMs × 128 B × clock."""
        return self.sms * WAVEFRONT_BYTES * self.clock_mhz / 1e3

    @property
    def ridge(self) -> float:
        """Intensity in FLOP per DRAM byte from which on arithmetic, not DRAM, is the limit."""
        return self.peak_gflops / self.dram_gbs


_KB = 1024
_MB = 1024 * _KB

# fmt: off
GPUS = (
    Gpu("t4", "T4", "7.5", 40, 64, 1590, 320, 256, 4*_MB, 64*_KB, 64*_KB, 1024),
    Gpu("a100", "A100 40 GB", "8.0", 108, 64, 1410, 1555, 5120, 40*_MB, 164*_KB, 163*_KB, 2048),
    Gpu("rtx3090", "RTX 3090", "8.6", 82, 128, 1695, 936, 384, 6*_MB, 100*_KB, 99*_KB, 1536),
    Gpu("l4", "L4", "8.9", 58, 128, 2040, 300, 192, 48*_MB, 100*_KB, 99*_KB, 1536),
    Gpu("rtx4090", "RTX 4090", "8.9", 128, 128, 2520, 1008, 384, 72*_MB, 100*_KB, 99*_KB, 1536),
    Gpu("h100", "H100 SXM", "9.0", 132, 128, 1980, 3350, 5120, 50*_MB, 228*_KB, 227*_KB, 2048),
    Gpu("h200", "H200", "9.0", 132, 128, 1980, 4800, 6144, 50*_MB, 228*_KB, 227*_KB, 2048),
    Gpu("rtx5090", "RTX 5090", "12.0", 170, 128, 2407, 1792, 512, 96*_MB, 100*_KB, 99*_KB, 1536),
)
# fmt: on


def find_gpu(name: str) -> Gpu:
    """Return the GPU with this id or name; a device's full name such as "NVIDIA H200" works too.

    Raises:
        LabError: the book has no data sheet of this GPU; the message names the nearest.
    """
    for gpu in GPUS:
        if is_model(name, gpu):
            return gpu
    known = {_plain(gpu.name): gpu.name for gpu in GPUS}
    near = difflib.get_close_matches(_plain(name), known, n=1)
    names = ", ".join(known.values())
    hint = f" Did you mean '{known[near[0]]}'?" if near else f" It knows {names}."
    raise LabError(f"The book has no data sheet of a GPU called '{name}'.{hint}")


def is_model(name: str, gpu: Gpu) -> bool:
    """Say whether a name, such as the one a device reports, means this model and no other."""
    # "L40S" is no L4, "GH200" no H200, and "RTX 4090 Laptop GPU" no RTX 4090: whole names only.
    return _plain(name) in (gpu.id, _plain(gpu.name), *_DEVICE_NAMES.get(gpu.id, ()))


_DEVICE_NAMES = {"a100": ("a100sxm440gb", "a100pcie40gb"), "h100": ("h10080gbhbm3",)}
"""What devices call themselves where it is neither the id nor the name; as ``_plain`` writes it."""


def _plain(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "geforce", "tesla"))
