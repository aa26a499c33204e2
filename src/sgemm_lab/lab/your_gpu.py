"""The reader's own GPU: everything that the book's plots show, measured in one go."""

from collections.abc import Iterable, Sequence

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.cuda.launch import current_device, device_target
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Output, sentence
from sgemm_lab.lab.speeds import Speeds, find_scores
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.records.gpu_record import Measurement

NO_GPU = (
    "There is no GPU here, so nothing was measured and the plots keep showing the records. "
    "On Colab choose a GPU runtime and run all cells again."
)


def my_gpu(*sizes: AnySize) -> Speeds | Output:
    """Measure all kernels and the card on this machine's GPU; the plots then show it too.

    Without ``sizes`` at 1024³, 2048³ and 4096³. Kernels that the GPU is too old for are left out,
    and so is a size that a kernel refuses. Without a GPU a sentence says so.

    Raises:
        LabError: no kernel could be measured.
    """
    shapes = [size_of(size) for size in sizes or (1024, 2048, 4096)]
    if not session.live():
        return sentence(NO_GPU)
    kernels = [kernel for kernel in load_kernels(variants=True) if _runs_here(kernel)]
    has_card = any(record.readings("rate.fma") for record in session.here())
    run = session.measure_here(kernels, shapes, micro=not has_card)
    ended = "" if run.complete else " Stopped early: what was measured so far is saved."
    note = f"{session.provenance(current_device(), run)} cuBLAS FP32: {run.cublas_call}.{ended}"
    return Speeds(tuple(find_scores(kernels, shapes, session.all_records())), note)


def gpu_seconds(measurements: Iterable[Measurement], sizes: Sequence[Size] | None = None) -> float:
    """Return the seconds that a GPU was timed or warmed up for, in all or at some of the sizes.

    Every measurement of a kernel begins with ``Budget.warm_up_seconds``, or one sample where that
    takes longer. Compiling, filling matrices and microbenchmarks come on top.
    """
    warm_up = Budget().warm_up_seconds
    return sum(
        sum(m.seconds) * m.launches + max(warm_up, max(m.seconds) * m.launches)
        for m in measurements
        if sizes is None or m.size in sizes
    )


def _runs_here(kernel: Kernel) -> bool:
    try:
        compile_kernel(kernel, device_target())
    except LabError:
        return False
    return True
