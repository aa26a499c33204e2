"""What a kernel asks of shared memory for each multiply-add of a warp, and the speed it leaves."""

from sgemm_lab.counting.cached_counts import launch
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of

KINDS = {
    "loads": ("shared_load_wavefronts",),
    "stores": ("shared_store_wavefronts",),
    "all": ("shared_load_wavefronts", "shared_store_wavefronts"),
}
"""The wavefronts that :func:`wavefronts` can count, and the counts they are made of."""


def wavefronts(
    kernel: str | Kernel, what: str = "loads", *, line: str = "", size: AnySize = 128
) -> float:
    """Return shared-memory wavefronts per multiply-add instruction of a warp, counted here.

    Args:
        what: "loads", "stores" or "all".
        line: count only source lines that contain this text, such as "fragA["; "" counts all.

    Raises:
        LabError: ``what`` is unknown, no line contains the text, or there are no multiply-adds.
    """
    of, at = kernel_of(kernel), size_of(size)
    if what not in KINDS:
        raise LabError(f"Wavefronts are of {', '.join(KINDS)}, not of '{what}'.")
    counts = launch(of, at).result.counts
    texts = of.source.splitlines()
    if not any(line in text for text in texts):
        raise LabError(f"No line of '{of.name}' holds “{line}”.")
    chosen = [found for where, found in counts.lines.items() if line in texts[where.line - 1]]
    total: int = sum(getattr(found, name) for found in chosen for name in KINDS[what])
    return total / (_multiply_adds(of, at) / WARP)


def _multiply_adds(kernel: Kernel, size: Size) -> int:
    made = launch(kernel, size).result.counts.total.ffma_thread_instructions
    if not made:
        raise LabError(f"The kernel '{kernel.name}' makes no multiply-adds.")
    return made
