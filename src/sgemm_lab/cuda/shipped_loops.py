"""Main loops in machine code: the shipped text of those that pages show, or disassembled here.

The package ships their text, so pages need neither compiler nor disassembler.
``python -m sgemm_lab.cuda.shipped_loops`` rewrites it, as part of ``make counts``.
"""

import re
from pathlib import Path

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.cuda.machine_code import disassemble
from sgemm_lab.cuda.main_loop import Loop, loop_text, main_loop
from sgemm_lab.cuda.shipped_ptx import say_written, shipped_file
from sgemm_lab.files import SHIPPED_LOOPS, data_folder, write_whole
from sgemm_lab.kernel import Kernel

_SHOWN = re.compile(r"\bmachine_code\(([^)]*)\)")
_NAME = re.compile(r'"([^"]+)"')


def kernel_loop(kernel: Kernel) -> Loop:
    """Return the main loop of a kernel: the text that travels, or else compiled here.

    Raises:
        MissingToolError: it does not travel, and NVRTC or nvdisasm is not installed.
        CompileError: the kernel does not compile.
        LabError: it has no loop with multiply-adds.
    """
    kept = _file(kernel)
    if kept.is_file() and kernel == load_kernel(kernel.name):
        return main_loop(kept.read_text(encoding="utf-8"))
    return main_loop(disassemble(compile_kernel(kernel).cubin))


def shown() -> list[Kernel]:
    """Return the kernels whose machine code a chapter shows.

    Raises:
        LabError: there is no checkout with chapters, or a chapter names no kernel of the book.
    """
    pages = (page.read_text(encoding="utf-8") for page in data_folder("chapters").glob("*.md"))
    calls = (call for page in pages for call in _SHOWN.findall(page))
    return [
        load_kernel(name) for name in sorted({n for call in calls for n in _NAME.findall(call)})
    ]


def write_all(folder: Path = SHIPPED_LOOPS) -> list[Path]:
    """Write the main loop of every kernel that a chapter shows into ``folder``; return the files.

    Files of kernels that no chapter shows are removed.

    Raises:
        LabError: NVRTC or nvdisasm is not installed, or a kernel has no such loop.
    """
    texts = {
        folder / _file(kernel).name: loop_text(main_loop(disassemble(compile_kernel(kernel).cubin)))
        for kernel in shown()
    }
    for path, text in texts.items():
        write_whole(path, text)
    for path in set(folder.glob("*.sass")) - set(texts):
        path.unlink()
    return list(texts)


def _file(kernel: Kernel) -> Path:
    return SHIPPED_LOOPS / shipped_file(kernel).with_suffix(".sass").name


def main() -> None:
    """Write the files and say how many."""
    say_written(write_all(), SHIPPED_LOOPS)


if __name__ == "__main__":
    main()
