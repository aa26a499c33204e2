"""Pick the kernel that a dispatch table predicts as the fastest for M, N, K.

A kernel's time is modelled as a launch latency plus the larger of the busiest SM's work
(``work.busiest_sm_work``) and the bytes of A, B and C. The model is scaled to the nearest measured
size (smallest factors between M, N and K) of the same float4 alignment. At a measured size the
choice is the fastest kernel there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.work import distance, extrapolated, is_aligned
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import Point, Table


@dataclass(frozen=True)
class Choice:
    """A kernel for a size, with its predicted time."""

    kernel: Kernel
    seconds: float
    """Predicted for the table's GPU."""


class Picker:
    """Kernel selection by a table. Results are cached."""

    def __init__(
        self, table: Table, sms: int, usable: Callable[[Kernel], bool] = lambda _: True
    ) -> None:
        """Read a table.

        Args:
            table: of this or a similar GPU.
            sms: number of SMs of the GPU.
            usable: whether a kernel runs on the GPU.

        Raises:
            LabError: none of the table's kernels is usable.
        """
        self._sms = sms
        names = dict.fromkeys(point.kernel for point in table.points)
        kernels = {name: kernel for name in names if (kernel := book_kernel(name)) is not None}
        self._kernels = {name: one for name, one in kernels.items() if usable(one)}
        self._by_size: dict[Size, dict[str, Point]] = {}
        for point in table.points:
            if point.kernel in self._kernels:
                self._by_size.setdefault(point.size, {})[point.kernel] = point
        self._known: dict[tuple[Size, bool], Choice] = {}
        self._gpu = table.gpu.name
        self._refuse_empty()

    def drop(self, kernel: Kernel) -> None:
        """Remove a kernel that does not run on the GPU.

        Raises:
            LabError: it was the last one.
        """
        self._known.clear()
        del self._kernels[kernel.name]
        for points in self._by_size.values():
            points.pop(kernel.name, None)
        self._by_size = {size: points for size, points in self._by_size.items() if points}
        self._refuse_empty()

    def _refuse_empty(self) -> None:
        if not self._by_size:
            raise LabError(
                f"None of the kernels tuned on {self._gpu} runs on this GPU. "
                "Make a table for this GPU with 'sgemm-lab tune'."
            )

    def pick(self, m: int, n: int, k: int, *, aligned: bool | None = None) -> Choice:
        """Return the kernel for a product of M, N, K, each 1 or more.

        ``aligned``: whether float4 can read the matrices; by default derived from the size.
        """
        size = (m, n, k)
        aligned = is_aligned(size) if aligned is None else aligned
        if (size, aligned) not in self._known:
            self._known[size, aligned] = self._find(size, aligned)
        return self._known[size, aligned]

    def _find(self, size: Size, aligned: bool) -> Choice:
        near = self._nearest(size, aligned)
        found = (
            Choice(
                self._kernels[name],
                extrapolated(point.seconds, self._kernels[name], near, size, self._sms),
            )
            for name, point in self._by_size[near].items()
        )
        return min(found, key=lambda choice: choice.seconds)

    def _nearest(self, size: Size, aligned: bool) -> Size:
        """Return the nearest measured size, if possible of the same alignment."""
        alike = [other for other in self._by_size if is_aligned(other) == aligned]
        return min(alike or self._by_size, key=lambda other: distance(size, other))
