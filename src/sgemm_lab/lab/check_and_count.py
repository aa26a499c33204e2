"""Check and count: the verbs that take kernels of the book and any other CUDA kernel."""

from sgemm_lab.external_cuda.launch import ExternalKernel
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of, without_tool
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.external import ExternalCounted, external_count, external_verdict
from sgemm_lab.lab.output import Output


@without_tool
def check(*kernels: str | Kernel | ExternalKernel, simulated: bool = False) -> Output:
    """Check kernels at awkward sizes, on this machine's GPU or by simulation.

    Kernels of any other file (see ``mine``) are simulated, and cannot be mixed with the book's.

    Args:
        simulated: do not use the GPU. A stray or misaligned access would stop it for the session.

    Where neither way is possible, the output says what to install.
    """
    external = [kernel for kernel in kernels if isinstance(kernel, ExternalKernel)]
    if external and len(external) == len(kernels):
        return external_verdict(external)
    return verdict([kernel_of(kernel) for kernel in kernels], simulated=simulated)


@without_tool
def count(
    *kernels: str | Kernel | ExternalKernel, size: AnySize = 256, expect: str | None = None
) -> Counted | ExternalCounted:
    """Count the memory requests of kernels in one launch, beside a GPU's own counters.

    A single kernel of any other file (see ``mine``) is counted line by line, and checked.

    Args:
        expect: what an array should hold, such as "y = 2 * x"; for a kernel of any other file.

    The reader's own kernels need the compiler; where it is missing, the output says how to install
    it.
    """
    if len(kernels) == 1 and isinstance(kernels[0], ExternalKernel):
        return external_count(kernels[0], size_of(size), expect)
    return Counted([kernel_of(kernel) for kernel in kernels], size_of(size))
