"""Pick the kernel for M, N, K: the fastest one measured there, or by the fitted model of time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sgemm_lab.catalogue import book_kernel, book_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import is_candidate
from sgemm_lab.gemm.dispatch.model import Slots, is_aligned, terms
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import Point, Table, TimeModelFit, nearest_table
from sgemm_lab.records.gpu_record import Device


@dataclass(frozen=True)
class Choice:
    """A kernel for a size, with its predicted or measured time."""

    kernel: Kernel
    seconds: float


class Picker:
    """Kernel selection by tables. Results are cached."""

    def __init__(
        self, gpu: Device, tables: list[Table], usable: Callable[[Kernel], bool] = lambda _: True
    ) -> None:
        """Take the model of the GPU, or of the most similar one, and the GPU's own points.

        ``usable`` tells whether a kernel runs on the GPU.
        """
        table = nearest_table(gpu, tables)
        assert table.model is not None
        self.tuned_on = table.gpu.name
        self.library_shapes = table.model.library
        self._sms, self._usable = gpu.sms, usable
        self._dropped: set[Kernel] = set()
        self._fits: dict[Kernel, TimeModelFit] = {}
        fits = table.model.fits
        for fit, kernel in zip(fits, book_kernels(fit.kernel for fit in fits), strict=True):
            if kernel is not None and self._is_usable(kernel):
                self._fits[kernel] = fit
        self._measured: dict[Size, tuple[Point, ...]] = {}
        for own in tables:
            if own.gpu.name == gpu.name:
                self._measured = {size: own.at(size) for size in own.sizes}
        self._known: dict[tuple[Size, bool], Choice] = {}
        self._refuse_empty()

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of the model that run on the GPU."""
        return list(self._fits)

    def drop(self, kernel: Kernel) -> None:
        """Remove a kernel that does not run on the GPU."""
        self._known.clear()
        self._dropped.add(kernel)
        self._fits.pop(kernel, None)
        self._refuse_empty()

    def _is_usable(self, kernel: Kernel) -> bool:
        return kernel not in self._dropped and self._usable(kernel)

    def _refuse_empty(self) -> None:
        if not self._fits:
            raise LabError(
                f"None of the kernels tuned on {self.tuned_on} runs on this GPU. "
                "Make a table for this GPU with 'sgemm-lab tune'."
            )

    def pick(self, m: int, n: int, k: int, *, aligned: bool = True) -> Choice:
        """Return the kernel for a product of M, N, K, each 1 or more.

        ``aligned``: whether the matrices begin where float4 can read them, as those of an allocator
        do.
        """
        key = (m, n, k), aligned
        if key not in self._known:
            self._known[key] = self._find((m, n, k), aligned)
        return self._known[key]

    def predict(self, kernel: Kernel, size: Size, *, aligned: bool = True) -> float | None:
        """Return the predicted seconds of a kernel; None if the model has no such kernel."""
        fit = self._fits.get(kernel)
        return self._seconds(kernel, fit, size, aligned) if fit else None

    def _seconds(self, kernel: Kernel, fit: TimeModelFit, size: Size, aligned: bool) -> float:
        counts = terms(kernel, size, Slots(self._sms, fit.resident, fit.clusters or 0))
        costs = fit.aligned if aligned and is_aligned(kernel, size) else fit.other
        return sum(count * cost for count, cost in zip(counts, costs, strict=True))

    def _find(self, size: Size, aligned: bool) -> Choice:
        measured = self._measured_choices(size, aligned)
        return measured[0] if measured else min(self._modelled(size, aligned), key=_seconds)

    def ranked(self, size: Size, *, aligned: bool = True) -> list[Choice]:
        """Return every kernel for M, N, K: the measured ones first, each group fastest first."""
        measured = self._measured_choices(size, aligned)
        known = {choice.kernel for choice in measured}
        rest = (choice for choice in self._modelled(size, aligned) if choice.kernel not in known)
        return [*measured, *sorted(rest, key=_seconds)]

    def _measured_choices(self, size: Size, aligned: bool) -> list[Choice]:
        points = self._measured.get(size, ()) if aligned else ()
        found = ((book_kernel(point.kernel), point) for point in points if point.is_current)
        return [Choice(kernel, point.seconds) for kernel, point in found
                if kernel and self._is_usable(kernel)]  # fmt: skip

    def _modelled(self, size: Size, aligned: bool) -> Iterator[Choice]:
        within = [pair for pair in self._fits.items() if is_candidate(pair[0], size)]
        for kernel, fit in within or self._fits.items():
            yield Choice(kernel, self._seconds(kernel, fit, size, aligned))


def _seconds(choice: Choice) -> float:
    return choice.seconds
