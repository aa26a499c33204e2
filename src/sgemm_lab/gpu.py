"""Data sheets of GPUs by name, and the roofs that follow from them.

Limits by compute capability, such as shared memory and threads, are in ``formulas.occupancy``. Each
number of a data sheet has a source.
"""

import difflib
import re
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import limits_of
from sgemm_lab.hardware import WAVEFRONT_BYTES


@dataclass(frozen=True)
class Gpu:
    """One GPU model. Clocks in MHz, bandwidth in GB/s (10⁹ B/s), sizes in bytes."""

    id: str
    name: str
    compute_capability: str
    sms: int
    fp32_lanes: int
    """FP32 units of one SM; each completes one fused multiply-add per clock."""
    tf32_fmas: int
    """Dense TF32 multiply-adds of one SM's tensor cores per clock; 0 without TF32."""
    fp16_fmas: int
    """The same for FP16 factors with FP32 accumulation."""
    clock_mhz: int
    """Boost clock."""
    dram_gbs: float
    memory_bus_bits: int
    l2_bytes: int
    sources: dict[str, str]
    source: str = "data sheet"
    """Label of the sources on a page."""

    @property
    def shared_per_sm(self) -> int:
        """Maximum shared memory of an SM in bytes."""
        return limits_of(self.compute_capability).shared_per_sm

    @property
    def shared_per_block(self) -> int:
        """Maximum shared memory of a block in bytes."""
        return limits_of(self.compute_capability).shared_per_block

    @property
    def threads_per_sm(self) -> int:
        """Maximum number of resident threads of an SM."""
        return limits_of(self.compute_capability).threads_per_sm

    @property
    def peak_gflops(self) -> float:
        """Peak FP32 GFLOP/s: SMs × lanes × 2 FLOP × clock."""
        return self.sms * self.fp32_lanes * 2 * self.clock_mhz / 1e3

    def fmas(self, arithmetic: str) -> float:
        """Return the multiply-adds of an SM per clock in an arithmetic.

        "3xtf32" and "3xfp16" need three products per multiply-add.

        Raises:
            LabError: the tensor cores do not support the arithmetic.
        """
        found = {
            "fp32": float(self.fp32_lanes),
            "tf32": float(self.tf32_fmas),
            "fp16": float(self.fp16_fmas),
            "3xtf32": self.tf32_fmas / 3,
            "3xfp16": self.fp16_fmas / 3,
        }[arithmetic]
        if not found:
            raise LabError(
                f"The tensor cores of {self.name} do not multiply {arithmetic.upper()} factors."
            )
        return found

    @property
    def shared_gbs(self) -> float:
        """Peak shared-memory GB/s: SMs × 128 B × clock."""
        return self.sms * WAVEFRONT_BYTES * self.clock_mhz / 1e3

    @property
    def ridge(self) -> float:
        """Intensity in FLOP per DRAM byte above which arithmetic is the limit."""
        return self.peak_gflops / self.dram_gbs


_MB = 1024**2


def _sources(all_but: str, **others: str) -> dict[str, str]:
    """Return the source of every number: ``all_but``, except for those in ``others``."""
    numbers = (
        "sms", "fp32_lanes", "tf32_fmas", "fp16_fmas", "clock_mhz", "dram_gbs", "memory_bus_bits",
        "l2_bytes",
    )  # fmt: skip
    rates = "from the dense TFLOP/s of its tensor cores and the clock in: " + all_but
    known = dict.fromkeys(("tf32_fmas", "fp16_fmas"), rates) | others
    return {number: known.get(number, all_but) for number in numbers}


_TURING = "NVIDIA Turing GPU architecture white paper, appendix on the Tesla T4"
_A100 = "NVIDIA A100 Tensor Core GPU architecture white paper"
_GA102 = "NVIDIA Ampere GA102 GPU architecture white paper"
_ADA = "NVIDIA Ada GPU architecture white paper"
_L4 = "NVIDIA L4 data sheet"
_H100 = "NVIDIA H100 Tensor Core GPU architecture white paper"
_BLACKWELL = "NVIDIA RTX Blackwell GPU architecture white paper"

GPUS = (
    Gpu(
        id="t4", name="T4", compute_capability="7.5", sms=40, fp32_lanes=64, clock_mhz=1590,
        dram_gbs=320, memory_bus_bits=256, l2_bytes=4 * _MB, tf32_fmas=0, fp16_fmas=512,
        sources=_sources(_TURING),
    ),
    Gpu(
        id="a100", name="A100 40 GB", compute_capability="8.0", sms=108, fp32_lanes=64,
        clock_mhz=1410, dram_gbs=1555, memory_bus_bits=5120, l2_bytes=40 * _MB,
        tf32_fmas=512, fp16_fmas=1024, sources=_sources(_A100),
    ),
    Gpu(
        id="rtx3090", name="RTX 3090", compute_capability="8.6", sms=82, fp32_lanes=128,
        clock_mhz=1695, dram_gbs=936, memory_bus_bits=384, l2_bytes=6 * _MB,
        tf32_fmas=128, fp16_fmas=256,
        sources=_sources(_GA102),
    ),
    Gpu(
        id="l4", name="L4", compute_capability="8.9", sms=58, fp32_lanes=128, clock_mhz=2040,
        dram_gbs=300, memory_bus_bits=192, l2_bytes=48 * _MB, tf32_fmas=256, fp16_fmas=512,
        sources=_sources(_ADA, clock_mhz=_L4, dram_gbs=_L4),
    ),
    Gpu(
        id="rtx4090", name="RTX 4090", compute_capability="8.9", sms=128, fp32_lanes=128,
        clock_mhz=2520, dram_gbs=1008, memory_bus_bits=384, l2_bytes=72 * _MB,
        tf32_fmas=128, fp16_fmas=256,
        sources=_sources(_ADA),
    ),
    Gpu(
        id="h100", name="H100 SXM", compute_capability="9.0", sms=132, fp32_lanes=128,
        clock_mhz=1980, dram_gbs=3350, memory_bus_bits=5120, l2_bytes=50 * _MB,
        tf32_fmas=1024, fp16_fmas=2048,
        sources=_sources(
            _H100, clock_mhz="from the 67 TFLOP/s of FP32 in the NVIDIA H100 data sheet",
            dram_gbs="NVIDIA H100 data sheet",
        ),
    ),
    Gpu(
        id="h200", name="H200", compute_capability="9.0", sms=132, fp32_lanes=128,
        clock_mhz=1980, dram_gbs=4800, memory_bus_bits=6144, l2_bytes=50 * _MB,
        tf32_fmas=1024, fp16_fmas=2048,
        sources=_sources(
            "the chip of the H100: " + _H100,
            clock_mhz="from the 67 TFLOP/s of FP32 in the NVIDIA H200 data sheet",
            dram_gbs="NVIDIA H200 data sheet",
            memory_bus_bits="six stacks of HBM3e with 1024 lines each; a device reports 6016",
            l2_bytes="the chip of the H100: " + _H100 + "; a device reports 60 MB",
        ),
    ),
    Gpu(
        id="rtx5090", name="RTX 5090", compute_capability="12.0", sms=170, fp32_lanes=128,
        clock_mhz=2407, dram_gbs=1792, memory_bus_bits=512, l2_bytes=96 * _MB,
        tf32_fmas=128, fp16_fmas=256,
        sources=_sources(_BLACKWELL),
    ),
)  # fmt: skip


def find_gpu(name: str) -> Gpu:
    """Return the GPU with this id, name or full device name, such as "NVIDIA H200".

    Raises:
        LabError: the book has no data sheet of this GPU; the message names the most similar.
    """
    for gpu in GPUS:
        if is_model(name, gpu):
            return gpu
    known = {_plain(gpu.name): gpu.name for gpu in GPUS}
    near = difflib.get_close_matches(_plain(name), known, n=1)
    names = ", ".join(known.values())
    hint = f" Did you mean '{known[near[0]]}'?" if near else f" It has {names}."
    raise LabError(f"The book has no data sheet of a GPU called '{name}'.{hint}")


def is_model(name: str, gpu: Gpu) -> bool:
    """Whether a name, such as a device's, denotes exactly this model."""
    # Whole names only: "L40S" is not L4, nor "RTX 4090 Laptop GPU" RTX 4090.
    return _plain(name) in (gpu.id, _plain(gpu.name), *_DEVICE_NAMES.get(gpu.id, ()))


_DEVICE_NAMES = {"a100": ("a100sxm440gb", "a100pcie40gb"), "h100": ("h10080gbhbm3",)}
"""Further device names, normalized by ``_plain``."""


def _plain(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "geforce", "tesla"))
