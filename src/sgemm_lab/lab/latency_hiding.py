"""Latency hidden by warps and warp groups: the widget filled with what was measured."""

from sgemm_lab.formulas.occupancy import limits_of
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.bound_table import bound
from sgemm_lab.lab.card import newest_card
from sgemm_lab.widgets import LatencyHiding
from sgemm_lab.widgets.latency_hiding import Case

UNROLLED = 4
"""Steps of `naive` that the compiler writes one after another, with all their loads in front."""
_LEVELS = {"L1": "l1", "L2": "l2", "DRAM": "dram"}


def latency_hiding(name: str | Kernel = "naive") -> LatencyHiding:
    """Slide the warps on an SM, and see their loads fill the clocks in which L1 would be idle.

    A turn of a warp is the wavefronts of one turn of the kernel's unrolled loop. Then it waits for
    its loads, as long as one load took on the recorded card.

    Raises:
        LabError: the kernel's bound is not known, or no record has the microbenchmarks.
    """
    card = newest_card()
    work = round(UNROLLED * bound(name).demand)
    most = limits_of(card.device.compute_capability).warps_per_sm
    return LatencyHiding(
        [
            Case(name=level, work=work, wait=round(card.latency[key]), most=most)
            for level, key in _LEVELS.items()
        ],
        chosen=1,
        workers=most * 3 // 8,
    )


def warp_group_turns(name: str | Kernel, *, work: int, wait: int, most: int) -> LatencyHiding:
    """Slide the warp groups of a block, and see them take turns at the tensor cores.

    Args:
        work: clocks in which the tensor cores multiply a K tile of one warp group.
        wait: clocks from there to its next product, where it is alone.
        most: warp groups that the slider offers.
    """
    case = Case(name=kernel_of(name).name, work=work, wait=wait, most=most)
    return LatencyHiding([case], kind="warp group")
