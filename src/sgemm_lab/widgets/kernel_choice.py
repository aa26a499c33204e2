"""Which kernel for M, N, K: the candidates of the dispatcher, with their predicted times."""

from operator import mul
from typing import Any, TypedDict

import traitlets

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.gemm.dispatch.model import TERMS, Slots, is_aligned, terms
from sgemm_lab.kernel import Size
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu

LARGEST = 16384


class Candidate(TypedDict):
    """A candidate with its fitted costs: seconds for each unit of the terms of the model."""

    name: str  # with constants
    label: str
    kernel: str  # without constants
    values: dict[str, int]
    resident: int  # blocks on an SM
    clusters: int  # that run at a time; 0 without clusters
    most: list[int]  # the largest M, N and K; empty: any
    aligned: list[float]
    other: list[float]


class FittedGpu(TypedDict):
    """A GPU with the model that was fitted on it."""

    id: str
    name: str
    sms: int
    candidates: list[Candidate]


class KernelChoice(ChoosesGpu, LabWidget):
    """Sliders over M, N and K, and what each kernel's best candidate is predicted to take.

    Args:
        gpus: see :class:`FittedGpu`.
        gpu: id of the GPU to begin with. Default: the first.
        m, n, k: 1 to 16384.
        kernel: whose terms are shown, without constants; "": those of the pick.
    """

    m = traitlets.Int(1024, min=1, max=LARGEST).tag(sync=True)
    n = traitlets.Int(1024, min=1, max=LARGEST).tag(sync=True)
    k = traitlets.Int(1024, min=1, max=LARGEST).tag(sync=True)
    kernel = traitlets.Unicode("").tag(sync=True)

    @property
    def size(self) -> Size:
        """M, N, K."""
        return self.m, self.n, self.k

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """The label and the predicted seconds of each kernel's best candidate, fastest first."""
        chosen = self.chosen_gpu
        best: dict[str, tuple[str, float]] = {}
        for one in chosen["candidates"]:
            if all(side <= most for side, most in zip(self.size, one["most"], strict=False)):
                seconds = sum(_parts(one, self.size, chosen["sms"]))
                if seconds < best.get(one["kernel"], ("", float("inf")))[1]:
                    best[one["kernel"]] = one["label"], seconds
        return sorted(best.values(), key=lambda each: each[1])

    def parts(self, name: str) -> dict[str, float]:
        """Return the predicted seconds of a candidate, by the terms of ``dispatch.model.TERMS``."""
        chosen = self.chosen_gpu
        one = next(one for one in chosen["candidates"] if one["name"] == name)
        return dict(zip(TERMS, _parts(one, self.size, chosen["sms"]), strict=True))

    def table(self) -> str:
        """Return each kernel's best candidate and its time as an HTML table."""
        ranking = self.ranking
        rows = [
            [label, f"{1e6 * seconds:,.1f}", number(seconds / ranking[0][1])]
            for label, seconds in ranking
        ]
        return html_table("Predicted times", ["Kernel", "µs", "Over the fastest"], rows)


def _parts(one: dict[str, Any], size: Size, sms: int) -> list[float]:
    kernel = load_kernel(one["name"])
    counts = terms(kernel, size, Slots(sms, one["resident"], one["clusters"]))
    costs: list[float] = one["aligned" if is_aligned(kernel, size) else "other"]
    return list(map(mul, counts, costs))
