"""The PTX of kernels: from the package's archive for the book's kernels, or compiled here.

The book's kernels can be counted without NVRTC, such as on macOS, and without compiling.
``python -m sgemm_lab.cuda.shipped_ptx`` rewrites the archive's PTX.
"""

import re

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda import archive
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, compile_to_ptx, load_nvrtc
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel

_NAMED = re.compile(r'"(\w+:[A-Z]\w*=\d+(?:,[A-Z]\w*=\d+)*)"')


def kernel_ptx(kernel: Kernel, target: str = DEFAULT_TARGET) -> str:
    """Return a kernel's PTX: from the archive for an unchanged book kernel, or else compiled here.

    Raises:
        MissingToolError: NVRTC is missing and the kernel is not one of the book's own.
        CompileError: the kernel does not compile.
    """
    if target == DEFAULT_TARGET and archive.is_current(kernel, "ptx"):
        return shipped_text(kernel)
    try:
        load_nvrtc()
    except LabError as missing:
        raise MissingToolError(
            f"{missing} Only the book's own kernels, unchanged and for {DEFAULT_TARGET}, "
            "can be counted without it."
        ) from None
    return compile_to_ptx(kernel, target)


def archived_ptx(kernel: Kernel) -> str:
    """Return the archive's PTX of a book kernel or variant; another kernel is compiled here.

    So the counts of the book's own kernels are the same on every machine.
    """
    return shipped_text(kernel) if kernel in load_kernels(variants=True) else kernel_ptx(kernel)


def shipped_text(kernel: Kernel) -> str:
    """Return the PTX of a kernel from the package's archive."""
    text = archive.read(kernel, "ptx")
    if text is None:
        raise LabError(
            f"The PTX of '{kernel.name}' is not in the package. In a checkout write it with "
            "'make counts'; else install the package again."
        )
    return text


def write_all() -> None:
    """Compile every kernel, variant and small-tile kernel of the book into the archive."""
    archive.write("ptx", {kernel: compile_to_ptx(kernel) for kernel in shipped_kernels()})


def shipped_kernels() -> list[Kernel]:
    """Return the kernels whose PTX travels: the book's, their variants, other constants."""
    return [*load_kernels(variants=True), *small_tile_kernels()]


def small_tile_kernels() -> list[Kernel]:
    """Return the kernels with other constants that a chapter names and no kernel's head does."""
    pages = (page.read_text(encoding="utf-8") for page in data_folder("chapters").glob("*.md"))
    named = {name for page in pages for name in _NAMED.findall(page)}
    known = {kernel.name for kernel in load_kernels(variants=True)}
    return [load_kernel(name) for name in sorted(named - known)]


if __name__ == "__main__":
    write_all()
