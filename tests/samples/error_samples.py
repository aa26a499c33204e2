"""Round speeds and errors: as a record has them, and as a widget takes them."""

from dataclasses import replace
from typing import Any

from record_samples import record, run, samples

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.formulas.error_points import LOST
from sgemm_lab.measuring.accuracy import LENGTHS as MEASURED_LENGTHS
from sgemm_lab.measuring.accuracy import SIDE
from sgemm_lab.records.gpu_record import CUBLAS_MODES, INPUTS, Accuracy, Record
from sgemm_lab.widgets.speed_error import Way

CLASSES = {"half": "uniform in ±0.5", "large": "uniform in ±2²⁰", "cancelling": "sums that cancel"}
LENGTHS = (256, 4096)
PLACES: dict[str, Any] = {
    "sizes": ["4096³", "16384³"],
    "classes": CLASSES,
    "lengths": LENGTHS,
    "side": 1024,
    "gpu": "NVIDIA H200",
}


def _way(
    title: str,
    arithmetic: str,
    speeds: tuple[float | None, float | None],
    error: float,
    kind: str = "kernel",
    *,
    loses: bool = False,
    first: bool = True,
    chain: str = "",
) -> Way:
    """Return a way whose error grows with K, and with sums that cancel."""
    half = [error / 4, error]
    return {
        "title": title,
        "label": title.split()[-1] if chain else title,
        "kind": kind,
        "arithmetic": arithmetic,
        "chain": chain,
        "first": [first, first],
        "tflops": speeds,
        "timed": [2 * error, 4 * error if speeds[1] else None],
        "errors": [half, [LOST, LOST] if loses else half, [1000 * one for one in half]],
    }


WAYS = [
    _way("cuBLAS FP32", "fp32", (50.0, 51.0), 6e-7, "library"),
    _way("cuBLAS TF32", "tf32", (400.0, 350.0), 2.5e-4, "library"),
    _way("cuBLAS FP16", "fp16", (700.0, 650.0), 2.5e-4, "library", loses=True),
    _way("naive", "fp32", (6.0, None), 1.2e-6, first=False),
    _way("tiled", "fp32", (8.0, None), 1.2e-6, first=False),
    _way("stages", "fp32", (46.0, None), 1.2e-6, first=False),
    _way("per_warp_stages", "fp32", (57.0, 55.0), 5e-7),
    _way("wgmma_tf32", "tf32", (300.0, 250.0), 2.5e-4),
    _way("wgmma_fp16", "fp16", (236.0, 200.0), 2.5e-4, loses=True),
    _way("wgmma_3xfp16", "3xfp16", (135.0, 108.0), 2.4e-7),
    _way("Strassen, level 1", "fp32", (60.0, 64.0), 1e-6, "strassen", chain="strassen"),
    _way("Strassen, level 2", "fp32", (58.0, 68.0), 2e-6, "strassen", chain="strassen"),
]

RECORDED = ("promoted", *CUBLAS_MODES.values())
"""What the record of :func:`book` has: a kernel, and the modes of cuBLAS."""


def book(*, timed: float | None = 1e-6) -> list[Record]:
    """Return a record of 1 ms at 4096³, with errors by class of inputs and K.

    ``timed`` is the error of the product that was timed.
    """
    speeds = [replace(samples(name, 1e-3, size=4096), error=timed) for name in RECORDED]
    errors = (
        _accuracy(name, kind, k) for name in RECORDED for kind in INPUTS for k in MEASURED_LENGTHS
    )
    return [record(replace(run(*speeds), accuracies=tuple(errors)))]


def _accuracy(name: str, inputs: str, k: int) -> Accuracy:
    known = "" if name in CUBLAS_MODES.values() else load_kernel(name).fingerprint
    size = (SIDE, SIDE, k)
    if (name, inputs) == ("cublas_fp16", "large"):
        return Accuracy(name, known, inputs, *size, lost=7)
    error = {"promoted": 2e-7, "cublas": 4e-7}.get(name, 3e-4)
    return Accuracy(name, known, inputs, *size, 0, error * k / 4096, 3.0)
