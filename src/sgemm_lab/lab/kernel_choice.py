"""The widget of the dispatcher's choice, filled with the models that were fitted."""

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.gemm.dispatch.candidates import MOST
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.pick_costs import labels
from sgemm_lab.records.dispatch_table import Fit, load_tables
from sgemm_lab.widgets.kernel_choice import Candidate, FittedGpu, KernelChoice

_CONSTANTS = ("BM", "BN", "BK", "SPLIT", "BLOCKS", "WORTH", "TM", "PARTS", "WARPS")
"""The constants that the model reads."""


def kernel_choice(size: AnySize = 1024, shown: str = "") -> KernelChoice:
    """Draw the predicted times of the candidates of ``matmul``, at M, N and K that sliders set.

    Args:
        size: to begin with.
        shown: whose terms are shown first, without constants; "": those of the pick.

    Raises:
        LabError: no record has a model of time, or the size is too large.
    """
    gpus = []
    for table in load_tables():
        found = table.model.fits if table.model else ()
        fits = [(kernel, fit) for fit in found if (kernel := book_kernel(fit.kernel))]
        names = labels([one.name for one, _ in fits])
        candidates = [_candidate(*each, label) for each, label in zip(fits, names, strict=True)]
        if candidates:
            gpu = table.gpu
            gpus.append(FittedGpu(id=gpu.name, name=gpu.name, sms=gpu.sms, candidates=candidates))
    if not gpus:
        raise LabError("No record has a model of time. Run 'sgemm-lab tune' on a GPU.")
    m, n, k = size_of(size)
    return KernelChoice(gpus, m=m, n=n, k=k, kernel=shown)


def _candidate(kernel: Kernel, fit: Fit, label: str) -> Candidate:
    return Candidate(
        name=kernel.name,
        label=label,
        kernel=kernel.base_name,
        values={name: kernel.values[name] for name in _CONSTANTS if name in kernel.values},
        resident=fit.resident,
        clusters=fit.clusters or 0,
        most=list(MOST.get(kernel.base_name, ())),
        aligned=list(fit.aligned),
        other=list(fit.other),
    )
