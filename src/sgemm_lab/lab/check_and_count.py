"""Check and count: the verbs that take kernels of the book and any other CUDA kernel."""

from collections.abc import Sequence
from html import escape

from sgemm_lab.external_cuda import ExternalKernel, ExternalRun, check_file, count_external
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of, without_tool
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted, lines_of
from sgemm_lab.lab.output import Output, table
from sgemm_lab.text import size_text

MOST_FINDINGS = 3
"""Most findings of a kernel in the table."""


def _external_verdict(kernels: Sequence[ExternalKernel]) -> Output:
    """Check every kernel of some files by simulation and return the verdicts as a table."""
    rows = []
    for kernel in kernels:
        for report in check_file(kernel):
            texts = (*report.findings[:MOST_FINDINGS], *report.said)
            rows.append([report.kernel, " ".join([f"{report.verdict}.", *map(str, texts)])])
    note = "Simulated, without a GPU: the compiled kernel ran on a processor."
    return table(["kernel", "verdict"], rows, note=note, numbers=2)


class ExternalCounted:
    """One launch of a pasted kernel: the verdict, and what each line asks of memory."""

    def __init__(self, done: ExternalRun) -> None:
        """Take a launch that was counted."""
        self.done = done

    def verdict(self) -> list[str]:
        """Say what is right and wrong, in sentences."""
        return [*self.done.sentences, *(self.done.findings() or ["No hazard was found."])]

    def _table(self) -> Output:
        done = self.done
        pasted = done.kernel.pasted
        at = f" at M, N, K = {size_text(done.size)}" if done.depends_on_size else ""
        note = f"One launch of {done.name}{at}, counted here, no GPU."
        return lines_of(done.result.counts, pasted.text, pasted.name, note)

    def _repr_html_(self) -> str:
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.verdict())
        return f"{self._table().html}<ul>{said}</ul>"

    def __repr__(self) -> str:
        return "\n".join([self._table().text, *self.verdict()])


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
        return _external_verdict(external)
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
        expected = () if expect is None else (expect,)
        return ExternalCounted(count_external(kernels[0], size_of(size), expect=expected))
    return Counted([kernel_of(kernel) for kernel in kernels], size_of(size))
