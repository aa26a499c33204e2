"""Tuning on first use: the first product of a shape measures the kernels that the model ranks best.

The model's ranking is close, but its first kernel is not always the fastest. The fastest of the
best few is remembered for the shape and the alignment, in the process and on disk.
"""

import os
import threading
from functools import lru_cache
from typing import Any

from sgemm_lab.cuda.launch import current_device, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.library import Cublas, WithCublas
from sgemm_lab.gemm.dispatch.product import (
    MOST_PLANS,
    Dispatcher,
    GpuDispatcher,
    dispatcher,
    is_aligned_at,
)
from sgemm_lab.gemm.dispatch.trial import Given, Plan, Trial, is_captured, measure
from sgemm_lab.gemm.dispatch.winners import Key, Winners, winners_path
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import CUBLAS

MODEL, MODEL_CUBLAS = "model", "model+cublas"
FIRST, FIRST_CUBLAS = "first", "first+cublas"
MODES = (MODEL, MODEL_CUBLAS, FIRST, FIRST_CUBLAS)
"""Ways to choose: the model alone; the model, and cuBLAS where that is expected to be faster; a
measurement of the model's best kernels; and of cuBLAS too."""

VARIABLE = "SGEMM_LAB_TUNE"
"""Environment variable with the mode of calls that give none."""

MOST_KERNELS = 4
"""Of the model's ranking. In cross-validation over the shapes of a ``tune`` on the H200, the
fastest of the first 1, 2, 3, 4 and 6 reached 0.990, 0.997, 0.998, 0.999 and 1.000 of the fastest
candidate (geometric means)."""


class FirstUse(Dispatcher):
    """A dispatcher that measures at the first product of a shape."""

    def __init__(
        self, kernels: GpuDispatcher, winners: Winners, *, with_cublas: bool = False
    ) -> None:
        """Take the dispatcher that ranks and loads the kernels, and what was measured before."""
        self._kernels, self._winners, self._cupy = kernels, winners, require_gpu()
        self._cublas = Cublas(self._cupy, kernels) if with_cublas else None
        self._plans: dict[Key, Plan] = {}
        self._lock = threading.Lock()
        self.trials: dict[Key, Trial] = {}
        """The measurements of this process."""

    def launch(self, a: int, b: int, c: int, size: Size, stream: Any = None) -> None:
        """Compute c = a·b for matrices at three addresses, as ``LoadedKernel.launch``."""
        key = size, is_aligned_at(a, b, c)
        plan = self._plans.get(key) or self._plan(key, Given(a, b, c, size, stream))
        plan.launch(a, b, c, size, stream)

    def kernel_for(self, size: Size) -> Kernel:
        """Return the model's kernel for M, N, K."""
        return self._kernels.kernel_for(size)

    def _plan(self, key: Key, given: Given) -> Plan:
        with self._lock:
            found = self._plans.get(key) or self._kept(key)
            if found is None:
                if is_captured(self._cupy, given.stream):
                    return self._kernels
                found = self._measured(key, given)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
                self.trials.clear()
            self._plans[key] = found
            return found

    def _kept(self, key: Key) -> Plan | None:
        """Return what an earlier process chose; None if it chose nothing."""
        name = self._winners.get(key)
        return self._cublas if name == CUBLAS else self._kernels.named(name) if name else None

    def _measured(self, key: Key, given: Given) -> Plan:
        """Return the fastest plan and remember it; without memory for that, the model's."""
        best = self._kernels.best(*key, MOST_KERNELS)
        plans: dict[str, Plan] = {one.loaded.kernel.name: one.loaded for one in best}
        if self._cublas:
            # Second, so that it is measured also where there is time for two only.
            first, *rest = plans.items()
            plans = dict([first, (CUBLAS, self._cublas), *rest])
        try:
            trial = measure(self._cupy, plans, best[0].seconds, given)
        except self._cupy.cuda.memory.OutOfMemoryError:
            return best[0].loaded
        self.trials[key] = trial
        self._winners.add(key, trial.winner)
        return plans[trial.winner]


class _Setting:
    mode = os.environ.get(VARIABLE) or MODEL_CUBLAS


def set_tune(mode: str) -> None:
    """Set the mode of later calls that give none; ``sgemm_lab.set_tune`` documents it."""
    check_mode(mode)
    _Setting.mode = mode


def dispatcher_for(device: int, tune: str | None) -> Dispatcher:
    """Return the current GPU's dispatcher for a mode; None: for the mode that is set."""
    return _dispatcher(device, str(tune) if tune else _Setting.mode)  # a list has no hash


@lru_cache(maxsize=16)
def _dispatcher(device: int, mode: str) -> Dispatcher:
    check_mode(mode)
    kernels = dispatcher(device)
    if mode == MODEL:
        return kernels
    if mode == MODEL_CUBLAS:
        return WithCublas(kernels)
    winners = Winners(winners_path(current_device(), mode, kernels.kernels))
    return FirstUse(kernels, winners, with_cublas=mode == FIRST_CUBLAS)


def check_mode(mode: str) -> None:
    """Check a mode."""
    if mode not in MODES:
        raise LabError(
            f"tune is {mode!r}. Give {', '.join(repr(one) for one in MODES[:-1])} or "
            f"{MODES[-1]!r}: in the call, by set_tune or in {VARIABLE}."
        )
