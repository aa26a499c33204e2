"""Which kernel for a product of M, N, K? The one that the table foretells as the fastest.

The rule, whole: a kernel's time is taken to grow with the work of the SM that has the most to do
(``work.busiest_work``), or with the bytes of A, B and C where they take longer, and with a fixed
start. How long a kernel takes for a unit of that is read from the measured size nearest to the one
asked for. Near means: M, N and K differ by small factors. Sizes whose rows are multiples of four
floats, so that float4 can read them, learn from each other only, and so do the others. At a size
that was measured the fastest kernel there is the choice.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.work import carried_over, distance, is_aligned
from sgemm_lab.kernel import Kernel, Size, book_kernel
from sgemm_lab.records.dispatch_table import Point, Table


@dataclass(frozen=True)
class Choice:
    """A kernel for a size, and what the table foretells of it."""

    kernel: Kernel
    seconds: float
    """Prediction for the table's GPU."""


class Picker:
    """A table, ready to be asked. Answers are kept, so a second question costs nothing."""

    def __init__(
        self, table: Table, sms: int, usable: Callable[[Kernel], bool] = lambda _: True
    ) -> None:
        """Read a table for a GPU of so many SMs, on which the kernels that are ``usable`` run.

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
        """Choose this kernel no more: it turned out not to run on the GPU.

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
                f"Of the kernels tuned on {self._gpu} none runs on this GPU. "
                "Make a table of its own with 'sgemm-lab tune'."
            )

    def pick(self, m: int, n: int, k: int, *, aligned: bool | None = None) -> Choice:
        """Return the kernel for a product of M, N, K, each 1 or more.

        ``aligned`` says whether float4 can read the matrices; by default the size tells.
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
                carried_over(point.seconds, self._kernels[name], near, size, self._sms),
            )
            for name, point in self._by_size[near].items()
        )
        return min(found, key=lambda choice: choice.seconds)

    def _nearest(self, size: Size, aligned: bool) -> Size:
        """Return the nearest measured size of the same alignment, else of the other."""
        alike = [other for other in self._by_size if is_aligned(other) == aligned]
        return min(alike or self._by_size, key=lambda other: distance(size, other))
