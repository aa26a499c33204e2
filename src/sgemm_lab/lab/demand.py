"""What a kernel asks of shared memory for each multiply-add of a warp, and the speed it leaves."""

from sgemm_lab.counting.cached_counts import launch
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES, WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.card import measured_card
from sgemm_lab.models.bound import cap_of

KINDS = {
    "loads": ("shared_load_wavefronts",),
    "stores": ("shared_store_wavefronts",),
    "all": ("shared_load_wavefronts", "shared_store_wavefronts"),
}
"""The wavefronts that :func:`waves` can count, and the counts they are made of."""


def waves(kernel: Kernel, what: str, line: str, size: Size) -> float:
    """Return wavefronts of shared memory per multiply-add instruction of a warp.

    Args:
        kernel: the kernel, simulated here at ``size``.
        what: one of :data:`KINDS`.
        line: count only source lines that hold this text; "" counts all.
        size: M, N, K of the launch.

    Raises:
        LabError: ``what`` is unknown, no line holds the text, or there is nothing to divide by.
    """
    if what not in KINDS:
        raise LabError(f"Wavefronts are of {', '.join(KINDS)}, not of '{what}'.")
    counts = launch(kernel, size).result.counts
    texts = kernel.source.splitlines()
    if not any(line in text for text in texts):
        raise LabError(f"No line of '{kernel.name}' holds “{line}”.")
    chosen = [found for where, found in counts.lines.items() if line in texts[where.line - 1]]
    wavefronts: int = sum(getattr(found, name) for found in chosen for name in KINDS[what])
    return wavefronts / (_multiply_adds(kernel, size) / WARP)


def words(kernel: Kernel, size: Size) -> float:
    """Return the words that threads read from shared memory per multiply-add of a thread.

    Raises:
        LabError: the kernel cannot be counted here, or multiplies nothing.
    """
    read = launch(kernel, size).result.counts.total.shared_load_bytes
    return read / FLOAT_BYTES / _multiply_adds(kernel, size)


def cap(wavefronts: float) -> float:
    """Return the GFLOP/s that shared memory leaves to a kernel.

    An SM hands out one wavefront per clock, so in every ``wavefronts`` clocks each SM may start one
    multiply-add of a warp, 64 FLOP, at the SM clock that the card's run saw.
    """
    card = measured_card()
    if wavefronts <= 0:
        raise LabError("A kernel that needs no wavefronts has no cap from shared memory.")
    return cap_of(wavefronts, card.device.sms * card.clock_mhz / 1e3)


def _multiply_adds(kernel: Kernel, size: Size) -> int:
    made = launch(kernel, size).result.counts.total.ffma_thread_instructions
    if not made:
        raise LabError(f"The kernel '{kernel.name}' makes no multiply-adds.")
    return made
