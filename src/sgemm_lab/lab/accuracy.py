"""How far off kernels are: by class of inputs and K, and beside their speed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Output, table
from sgemm_lab.measuring.accuracy import SIDE
from sgemm_lab.records.gpu_record import CUBLAS_MODES, INPUTS, Accuracy, Measurement
from sgemm_lab.text import error_text, size_text

LIBRARY_NAMES = {name: f"cuBLAS {arithmetic.upper()}" for arithmetic, name in CUBLAS_MODES.items()}
"""How pages call the modes of cuBLAS."""


class Errors:
    """Errors of kernels and of cuBLAS as recorded; cuBLAS by the names in ``CUBLAS_MODES``.

    Asking for what was not measured raises a LabError.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._record = session.book_records()[0]

    def found(self, name: str, inputs: str, k: int) -> Accuracy:
        """Return what was measured of one kernel at one class of inputs and one K."""
        which = name if name in CUBLAS_MODES.values() else load_kernel(name)
        found = self._record.accuracy(which, inputs, k)
        if found is None:
            raise LabError(
                f"Errors of '{name}' are not recorded at K = {k}. Run 'sgemm-lab errors {name}' "
                "on a GPU."
            )
        return found

    def of(self, name: str, inputs: str = "half", k: int = 4096) -> float:
        """Return ‖C − A·B‖ over ‖A·B‖; infinity where elements of C are lost."""
        error = self.found(name, inputs, k).error
        return float("inf") if error is None else error

    def table(self, *kinds: str, k: int = 4096) -> Output:
        """List the errors by class of inputs, all or some, at one K."""
        kinds = kinds or tuple(INPUTS)
        rows = [
            [label(name), *(_said(self.found(name, kind, k)) for kind in kinds)]
            for name in self.names
        ]
        note = (
            f"‖C − A·B‖ over ‖A·B‖, A·B in float64, C of {SIDE}×{SIDE} elements, K = {k:,}. Lost: "
            f"C holds NaN or infinity. Recorded on {self._record.gpu.name}."
        )
        return table(["", *(INPUTS[kind] for kind in kinds)], rows, note=note)


def label(name: str) -> str:
    """Return a kernel's name, or how the page calls a mode of cuBLAS."""
    return LIBRARY_NAMES.get(name, name)


def _said(found: Accuracy) -> str:
    return "lost" if found.error is None else error_text(found.error)


def library(arithmetic: str, size: AnySize = 4096) -> Measurement:
    """Return cuBLAS's latest measurement in an arithmetic: "fp32", "tf32" or "fp16".

    Raises:
        LabError: there is none.
    """
    size = size_of(size)
    found = session.book_records()[0].library(arithmetic, size)
    if found is None:
        raise LabError(
            f"cuBLAS in {arithmetic} is not recorded at {size_text(size)}. Run 'sgemm-lab record' "
            "with a kernel of tensor cores on a GPU."
        )
    return found


def contributions() -> dict[str, str]:
    """Return the error that "one" or "three" products of parts leave, as text."""
    return {name: error_text(error) for name, error in errors_left().items()}


def errors_left() -> dict[str, float]:
    """Return the norm-wise error that each count of products of TF32 parts leaves, sums exact.

    Inputs are uniform in ±0.5 and split as the kernels split them: by big·big alone; with small·big
    and big·small.
    """
    random = np.random.RandomState(0)
    a, b = (random.uniform(-0.5, 0.5, (256, 1024)).astype(np.float32) for _ in range(2))
    (big_a, small_a), (big_b, small_b) = _split(a), _split(b)
    right = a.astype(float) @ b.T.astype(float)
    one = big_a @ big_b.T
    three = one + small_a @ big_b.T + big_a @ small_b.T
    norm = np.linalg.norm(right)
    parts = {"one": one, "three": three}
    return {name: float(np.linalg.norm(c - right) / norm) for name, c in parts.items()}


def _split(x: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x as two TF32 numbers each, in float64: the second's low bits are ignored."""
    big = ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    small = ((x - big).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return big.astype(float), small.astype(float)


def errors(*names: str) -> Errors:
    """Return recorded errors of kernels and modes of cuBLAS, such as "cublas" or "cublas_tf32"."""
    return Errors(names)
