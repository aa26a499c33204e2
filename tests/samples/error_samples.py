"""A record with round speeds and errors."""

from dataclasses import replace

from record_samples import record, run, samples

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.measuring.accuracy import LENGTHS as MEASURED_LENGTHS
from sgemm_lab.measuring.accuracy import SIDE
from sgemm_lab.records.gpu_record import CUBLAS_MODES, INPUTS, Accuracy, Record

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
