"""Data sheets of GPUs by name, and the roofs that follow from them.

The numbers are in ``gpus.toml``, each with a source. Limits by compute capability, such as shared
memory and threads, are in ``formulas.occupancy``.
"""

import difflib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    dram_gb: int = 0
    """Capacity of DRAM in 10⁹ bytes; 0 where it is not known."""
    source: str = "data sheet"
    """Label of the sources on a page."""

    @property
    def shared_per_block(self) -> int:
        """Maximum shared memory of a block in bytes."""
        return limits_of(self.compute_capability).shared_per_block

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


def _gpu(l2_mb: int, sources: object, **fields: Any) -> Gpu:
    """Return a data sheet of ``gpus.toml``; where its numbers come from is for readers of that."""
    return Gpu(**fields, l2_bytes=l2_mb * 1024**2)


_SHEETS = tomllib.loads(Path(__file__).with_name("gpus.toml").read_text(encoding="utf-8"))
GPUS = tuple(_gpu(**sheet) for sheet in _SHEETS["gpus"])


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
