"""What the model foretells for a measured product, from the links and products of the same run."""

import statistics

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.model import Link, at_rate, seconds
from sgemm_lab.records.multi_gpu import BOTH_WAYS, RING, LinkCase, MultiGpuRun, ProductTimes


def fitted_link(run: MultiGpuRun, carrier: str, gpus: int, block_limit: int | None = None) -> Link:
    """Return the link that a run's transfers tell of, all GPUs sending at once.

    Args:
        run: with its links.
        carrier: "nccl" or "copy".
        gpus: how many take part; more than two send around a ring.
        block_limit: the most blocks that NCCL took; None: it chose.

    Raises:
        LabError: the run has not measured them.
    """
    pattern = RING if gpus > 2 else BOTH_WAYS
    times = [
        (found.case.bytes, statistics.median(found.seconds))
        for found in run.links
        if found.case == LinkCase(carrier, pattern, gpus, found.case.bytes, block_limit=block_limit)
    ]
    if len(times) < 2:
        raise LabError(
            f"The run of {run.date} has no times of links by {carrier} between {gpus} GPUs. "
            "Run 'sgemm-lab several record --only links'."
        )
    return Link.fitted(times)


def predicted(times: ProductTimes, link: Link, *, overlap: bool) -> float:
    """Return the seconds that the model gives a measured product.

    Products run at the rate that they had without transfers.

    Args:
        times: as measured.
        link: such as ``fitted_link`` gives.
        overlap: products and transfers at once, or one after the other.

    Raises:
        LabError: the product lacks its time without transfers.
    """
    case = times.case
    if not times.products:
        raise LabError("Without the time of its products alone no product can be predicted.")
    plan = make_plan(case.layout, case.size, case.gpus, case.panels)
    busiest = max(sum(2 * m * n * k for m, n, k in (s.size for s in share.products))
                  for share in plan.shares)  # fmt: skip
    rate = at_rate(busiest / statistics.median(times.products))
    return seconds(plan, link, rate, overlap=overlap)
