"""Predict the time of a measured product from the links and products of the same run."""

import statistics

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu.layouts import make_plan
from sgemm_lab.multi_gpu.model import Link, at_rate, seconds
from sgemm_lab.records.multi_gpu import BOTH_WAYS, RING, LinkCase, MultiGpuRun, ProductTimes


def fitted_link(run: MultiGpuRun, carrier: str, gpus: int, block_limit: int | None = None) -> Link:
    """Fit a link to a run's transfers with all GPUs sending.

    Args:
        run: with its links.
        carrier: "nccl" or "copy".
        gpus: number of GPUs; more than two send in a ring.
        block_limit: maximum number of NCCL's blocks; None: NCCL's default.

    Raises:
        LabError: the run has no such measurements.
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
            "Run 'sgemm-lab multi-gpu record --only links'."
        )
    return Link.fit(times)


def predicted(times: ProductTimes, link: Link, *, overlap: bool) -> float:
    """Return the predicted seconds of a measured product.

    The rate is that of its products without transfers.

    Args:
        times: the measurement.
        link: from ``fitted_link``.
        overlap: whether transfers overlap products.

    Raises:
        LabError: the product lacks its time without transfers.
    """
    case = times.case
    if not times.products:
        raise LabError("A prediction needs the time of the products without transfers.")
    plan = make_plan(case.layout, case.size, case.gpus, case.panels)
    busiest = max(sum(2 * m * n * k for m, n, k in (s.size for s in share.products))
                  for share in plan.shares)  # fmt: skip
    rate = at_rate(busiest / statistics.median(times.products))
    return seconds(plan, link, rate, overlap=overlap)
