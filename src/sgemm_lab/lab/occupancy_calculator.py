"""The occupancy calculator, filled with the book's GPUs and what its kernels take."""

from collections.abc import Sequence

from sgemm_lab.cuda.compiler import compile_kernel, suits
from sgemm_lab.gpu import GPUS
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.roofs import chosen_gpu
from sgemm_lab.models.roofline import all_gpus
from sgemm_lab.widgets import Occupancy
from sgemm_lab.widgets.occupancy import Preset, Sm

_THREADS, _REGISTERS = 256, 32
_TARGETS = {gpu.compute_capability: f"sm_{gpu.compute_capability.replace('.', '')}" for gpu in GPUS}


def occupancy(
    kernels: Sequence[Kernel],
    size: Size,
    *,
    threads: int | None,
    registers: int | None,
    shared: int | None,
    gpu: str | None,
) -> Occupancy:
    """Return the calculator at the first kernel, or at the three numbers where they are given.

    Raises:
        LabError: a GPU that the book does not know, a number out of range, or a kernel that does
            not compile.
        MissingToolError: there are kernels, and the compiler is not installed.
    """
    gpus = all_gpus(session.all_records())
    chosen = chosen_gpu(gpu)
    sheet = next(known for known in gpus if known.id == chosen)
    presets = [_preset(kernel, size) for kernel in kernels]
    first = next((p for p in presets if sheet.compute_capability in p["registers"]), None)
    start = (_THREADS, _REGISTERS, 0)
    if first:
        start = (first["threads"], first["registers"][sheet.compute_capability], first["shared"])
    given = (threads, registers, shared)
    numbers = [own if own is not None else usual for own, usual in zip(given, start, strict=True)]
    return Occupancy(
        [Sm(id=g.id, name=g.name, compute_capability=g.compute_capability) for g in gpus],
        gpu=sheet.id,
        threads=numbers[0],
        registers=numbers[1],
        shared=numbers[2],
        kernels=presets,
        kernel=first["name"] if first else "",
    )


def _preset(kernel: Kernel, size: Size) -> Preset:
    """Return what a block of a kernel takes, compiled for each compute capability of the book."""
    shape = kernel.launch_shape(*size)
    compiled = {
        capability: compile_kernel(kernel, target)
        for capability, target in _TARGETS.items()
        if suits(kernel, target)
    }
    return Preset(
        name=kernel.name,
        threads=shape.threads,
        registers={capability: one.registers for capability, one in compiled.items()},
        shared=shape.shared_bytes + max(one.shared_bytes for one in compiled.values()),
    )
