"""Main loops in machine code: from the archive for those that pages show, or disassembled here.

So pages need neither compiler nor disassembler. ``python -m sgemm_lab.cuda.shipped_loops`` rewrites
the archive's SASS, as part of ``make counts``.
"""

import re

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import archive
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.cuda.machine_code import disassemble
from sgemm_lab.cuda.main_loop import Loop, loop_text, main_loop
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel

_SHOWN = re.compile(r"\bmachine_code\(([^)]*)\)")
_NAME = re.compile(r'"([^"]+)"')


def kernel_loop(kernel: Kernel) -> Loop:
    """Return the main loop of a kernel: from the archive, or else compiled here.

    Raises:
        MissingToolError: it is not in the archive, and NVRTC or nvdisasm is not installed.
        CompileError: the kernel does not compile.
        LabError: it has no loop with multiply-adds.
    """
    shipped = archive.read(kernel, "sass") if archive.is_current(kernel, "sass") else None
    if shipped is not None:
        return main_loop(shipped)
    return main_loop(disassemble(compile_kernel(kernel).cubin))


def shown() -> list[Kernel]:
    """Return the kernels whose machine code a chapter shows."""
    pages = (page.read_text(encoding="utf-8") for page in data_folder("chapters").glob("*.md"))
    calls = (call for page in pages for call in _SHOWN.findall(page))
    return [
        load_kernel(name) for name in sorted({n for call in calls for n in _NAME.findall(call)})
    ]


def write_all() -> None:
    """Write the main loop of every kernel that a chapter shows into the archive."""
    archive.write("sass", {kernel: _disassembled(kernel) for kernel in shown()})


def _disassembled(kernel: Kernel) -> str:
    return loop_text(main_loop(disassemble(compile_kernel(kernel).cubin)))


if __name__ == "__main__":
    write_all()
