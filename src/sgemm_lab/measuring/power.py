"""Power that products draw, and the clock that the GPU leaves them, without pauses between them."""

import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import device_target
from sgemm_lab.measuring.interleaved import (
    Budget,
    Product,
    Progress,
    contenders,
    time_interleaved,
    watch_card,
)
from sgemm_lab.records.gpu_record import Reading

POWER_KERNELS = ("per_warp_stages", "mma_tf32", "wgmma_tf32", "wgmma_fp16:INPUT=16", "wgmma_3xfp16")
"""Measured with cuBLAS in FP32, TF32 and FP16."""
POWER_SIZE = 8192
"""M = N = K."""
POWER_CAP = "power.cap"
"""The reading with the limit that the driver enforces, in W; its parameter is 0."""

_TOGETHER = 8
"""Launches without a wait of the host. The wait would let the GPU cool down."""
_BUDGET = Budget(seconds=1.5, max_samples=10**6, warm_up_seconds=1.0, rest=0)


def power(progress: Progress = lambda _: None) -> Iterator[Reading]:
    """Measure power, clock and speed of ``POWER_KERNELS`` and cuBLAS at ``POWER_SIZE``.

    Names of the readings are ``power.`` with the product's name and ``.watts``, ``.clock`` (MHz) or
    ``.gflops``, and ``POWER_CAP``. There are none on a GPU that lacks wgmma, or without nvidia-smi.
    """
    kernels = [load_kernel(name) for name in POWER_KERNELS]
    cap = _cap()
    if cap is None or not all(suits(kernel, device_target()) for kernel in kernels):
        return
    yield Reading(POWER_CAP, 0, "W", (cap,))
    for name, product in contenders(kernels).items():
        progress(f"power of {name} without pauses")
        size = (POWER_SIZE,) * 3
        with watch_card() as card:
            (found,) = time_interleaved({name: partial(_together, product)}, size, _BUDGET)
        # nvidia-smi shows the mean of a second, so what it showed first is of the time before.
        watts = card.power_w[len(card.power_w) // 2 :]
        if watts and found.clock_mhz is not None:
            gflops = tuple(_TOGETHER * found.flop / s / 1e9 for s in found.seconds)
            yield Reading(f"power.{name}.watts", POWER_SIZE, "W", tuple(watts))
            yield Reading(f"power.{name}.clock", POWER_SIZE, "MHz", (float(found.clock_mhz),))
            yield Reading(f"power.{name}.gflops", POWER_SIZE, "GFLOP/s", gflops)


def _together(product: Product, a: Any, b: Any, c: Any) -> None:
    for _ in range(_TOGETHER):
        product(a, b, c)


def _cap() -> float | None:
    """Return the power limit that the driver enforces, in W; None if it names none."""
    command = [
        "nvidia-smi", "--query-gpu=enforced.power.limit", "--format=csv,noheader,nounits", "--id=0",
    ]  # fmt: skip
    try:
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
