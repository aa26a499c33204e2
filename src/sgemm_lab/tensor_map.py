"""Tensor maps: descriptions of matrices by which TMA copies rectangles into shared memory.

A kernel takes a tensor map as a parameter of ``MAP_BYTES`` (CUDA driver API,
``cuTensorMapEncodeTiled``). On a GPU the driver encodes it; the simulator takes it as it is here.
"""

from dataclasses import dataclass

from sgemm_lab.hardware import FLOAT_BYTES

ELEMENT_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "tf32": 4}
"""Element types of tensor maps. ``tf32`` reads floats and rounds them to TF32 as it copies."""
SWIZZLES = (0, 32, 64, 128)
"""Bytes within which a copy permutes pieces of 16 bytes; 0 is no swizzle."""
MAP_BYTES = 128
ALIGNMENT = 16
LARGEST_BOX = 256


@dataclass(frozen=True)
class TensorMap:
    """A row-major matrix in global memory, and the box of it that one copy brings."""

    name: str
    """The kernel's parameter."""
    dtype: str
    """A key of ``ELEMENT_BYTES``."""
    matrix: str | None
    """"A", "B" or "C", the matrix of the product where it lies; None: in the workspace."""
    offset: int | None
    """Bytes from the workspace's start. With ``matrix`` also given, the workspace has a copy that
    is taken where A or B itself is not aligned to 16 bytes or has elements of another type."""
    rows: int
    columns: int
    pitch_bytes: int
    """Bytes from one row to the next."""
    box_rows: int
    box_columns: int
    swizzle: int
    """One of ``SWIZZLES``."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return ELEMENT_BYTES[self.dtype]

    @property
    def fault(self) -> str | None:
        """Why the driver would refuse the map, as a key of the messages; None if it would not."""
        row = self.box_columns * self.element_bytes
        if self.pitch_bytes % ALIGNMENT or self.pitch_bytes < self.columns * self.element_bytes:
            return "pitch"
        sides = (self.box_rows, self.box_columns)
        if not all(0 < side <= LARGEST_BOX for side in sides) or row % ALIGNMENT:
            return "box"
        return "swizzle" if self.swizzle not in SWIZZLES or 0 < self.swizzle < row else None

    def address(
        self, a: int, b: int, workspace: int, c: int = 0, input_bytes: int = FLOAT_BYTES
    ) -> int:
        """Return the address of the tensor map's matrix, given those of A, B, C and the workspace.

        ``input_bytes`` are those of an element of A and B.
        """
        own = {"A": a, "B": b, "C": c}.get(self.matrix or "")
        if own is None or (self.offset is not None and not self._fits(own, input_bytes)):
            return workspace + (self.offset or 0)
        return own

    def _fits(self, address: int, input_bytes: int) -> bool:
        row = self.columns * input_bytes
        same = input_bytes == self.element_bytes
        return same and address % ALIGNMENT == 0 and row % ALIGNMENT == 0
