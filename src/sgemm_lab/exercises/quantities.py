"""What exercises ask of kernels and machines: counts, speeds and registers, each with its words."""

from collections.abc import Callable

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.cached_counts import launch
from sgemm_lab.exercises.model import Found, Machine
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models.difference import comparison, differ
from sgemm_lab.simulator.counts import LineCounts
from sgemm_lab.text import number, size_text


def counts(kernel: Kernel, size: Size) -> LineCounts:
    """Return what one launch asks of memory, all lines together."""
    return launch(kernel, size).result.counts.total


def counts_at(kernel: Kernel, size: Size, text: str) -> LineCounts:
    """Return what the source lines that contain ``text`` ask of memory in one launch."""
    source = kernel.source.splitlines()
    total = LineCounts()
    for where, line in launch(kernel, size).result.counts.lines.items():
        if where.line and text in source[where.line - 1]:
            total.add(line)
    return total


def sectors_per_turn(kernel: Kernel, size: Size) -> float:
    """Return how many sectors a warp touches for each of its multiply-adds."""
    total = counts(kernel, size)
    return total.global_load_sectors * WARP / total.ffma_thread_instructions


def wavefronts_per_turn(kernel: Kernel, size: Size) -> float:
    """Return how many wavefronts of shared loads a warp takes for each of its multiply-adds."""
    total = counts(kernel, size)
    return total.shared_load_wavefronts * WARP / total.ffma_thread_instructions


def barriers(kernel: Kernel, size: Size) -> int:
    """Return how many barriers a block passes, where all blocks pass as many."""
    x, y = kernel.launch_shape(*size).grid
    return counts(kernel, size).barriers // (x * y)


def times_as_fast(
    name: str, other: str, size: Size, compared: Size | None = None
) -> Callable[[Machine], Found]:
    """Return what finds how many times as fast a kernel is as another at a size.

    It also says how many times at the size ``compared``.
    """

    def found(machine: Machine) -> Found:
        kernels = [load_kernel(name), load_kernel(other)]
        speeds, source = machine.speeds(kernels, size)
        ratio = speeds[name] / speeds[other]
        says = (
            f"At {size_text(size)} `{kernels[0].display_name}` reaches {number(speeds[name])} "
            f"GFLOP/s and `{kernels[1].display_name}` {number(speeds[other])}: {_times(ratio)}."
        )
        if compared:
            speeds, _ = machine.speeds(kernels, compared)
            again = number(speeds[name] / speeds[other])
            says += f" At {size_text(compared)} it is {again} times."
        return Found(ratio, source, says)

    return found


def _times(ratio: float) -> str:
    """Return "1.37 times the speed", with the rule of no difference where it applies."""
    equal = "" if differ(ratio) else f", {comparison(ratio)}"
    return f"{number(ratio)} times the speed{equal}"


def times_as_fast_as_at(name: str, size: Size, other: Size) -> Callable[[Machine], Found]:
    """Return what finds how many times as fast a kernel is at one size as at another."""

    def found(machine: Machine) -> Found:
        kernels = [load_kernel(name)]
        here, there = (machine.speeds(kernels, one) for one in (size, other))
        ratio = here[0][name] / there[0][name]
        says = (
            f"At {size_text(size)} `{kernels[0].display_name}` reaches {number(here[0][name])} "
            f"GFLOP/s, at {size_text(other)} {number(there[0][name])}: {_times(ratio)}."
        )
        return Found(ratio, here[1], says)

    return found


def speed(name: str, size: Size) -> Callable[[Machine], Found]:
    """Return what finds how many GFLOP/s a kernel reaches at a size."""

    def found(machine: Machine) -> Found:
        speeds, source = machine.speeds([load_kernel(name)], size)
        says = f"That is what `{name}` reaches at {size_text(size)}."
        return Found(speeds[name], source, says)

    return found
