"""The occupancy calculator, filled with the book's GPUs and what its kernels take."""

from sgemm_lab.cuda.compiler import compile_kernel, suits
from sgemm_lab.gpu import GPUS
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of, without_tool
from sgemm_lab.lab.roofs import chosen_gpu
from sgemm_lab.models.roofline import all_gpus
from sgemm_lab.widgets import Occupancy
from sgemm_lab.widgets.occupancy import Preset, Sm

_THREADS, _REGISTERS = 256, 32
_TARGETS = {gpu.compute_capability: f"sm_{gpu.compute_capability.replace('.', '')}" for gpu in GPUS}


@without_tool
def occupancy(
    *kernels: str | Kernel,
    threads: int | None = None,
    registers: int | None = None,
    shared: int | None = None,
    gpu: str | None = None,
    size: AnySize = 4096,
) -> Occupancy:
    """Slide what a block uses and see how many blocks an SM holds, and what limits it.

    Args:
        kernels: kernels to choose from, compiled here; it begins with the first, launched at
            ``size``, or with 256 threads of 32 registers.
        threads: of a block, in place of the kernel's.
        registers: of a thread, in place of the kernel's.
        shared: bytes of a block, in place of the kernel's.
        gpu: an id such as "t4"; by default this machine's GPU, or the one of the records.

    Where the compiler is missing, the output says what to install.

    Raises:
        LabError: a GPU that the book does not know, a number out of range, or a kernel that does
            not compile.
    """
    gpus = all_gpus(session.all_records())
    chosen = chosen_gpu(gpu)
    sheet = next(known for known in gpus if known.id == chosen)
    presets = [_preset(kernel_of(kernel), size_of(size)) for kernel in kernels]
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
