"""The PTX of kernels: shipped with the package for the book's kernels, or compiled here.

The book's kernels can be counted without NVRTC, such as on macOS, and without compiling.
``python -m sgemm_lab.cuda.shipped_ptx`` rewrites the files.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.compiler import DEFAULT_TARGET, compile_to_ptx, load_nvrtc
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.files import SHIPPED_PTX, data_folder, write_whole
from sgemm_lab.kernel import Kernel

MADE_OF = "made_of.json"
"""The file with the source hash of each shipped text."""

_NAMED = re.compile(r'"(\w+:[A-Z]\w*=\d+(?:,[A-Z]\w*=\d+)*)"')


def kernel_ptx(kernel: Kernel, target: str = DEFAULT_TARGET) -> str:
    """Return a kernel's PTX: the shipped text of a book kernel, or else compiled here.

    A book kernel that was edited since its text was written is compiled.

    Raises:
        MissingToolError: NVRTC is missing and the kernel is not one of the book's own.
        CompileError: the kernel does not compile.
    """
    shipped = shipped_file(kernel)
    if target == DEFAULT_TARGET and _shipped_made_of().get(shipped.name) == made_of(kernel):
        return shipped.read_text(encoding="utf-8")
    try:
        load_nvrtc()
    except LabError as missing:
        raise MissingToolError(
            f"{missing} Only the book's own kernels, unchanged and for {DEFAULT_TARGET}, "
            "can be counted without it."
        ) from None
    return compile_to_ptx(kernel, target)


def settled_ptx(kernel: Kernel) -> str:
    """Return the shipped text of a book kernel or variant; another kernel's is compiled here.

    So what is told of the book's own kernels is the same on every machine.

    Raises:
        LabError: the kernel is not one of the book's own, and cannot be compiled here; or it is
            one, and its text was not written yet.
    """
    return shipped_text(kernel) if kernel in load_kernels(variants=True) else kernel_ptx(kernel)


def shipped_text(kernel: Kernel) -> str:
    """Return the text of a kernel that travels with the package.

    Raises:
        LabError: it is not there.
    """
    try:
        return shipped_file(kernel).read_text(encoding="utf-8")
    except OSError:
        raise LabError(
            f"The PTX of '{kernel.name}' is not in the package. In a checkout write it with "
            "'make counts'; else install the package again."
        ) from None


def shipped_file(kernel: Kernel) -> Path:
    """Return where the PTX of a book kernel is kept in the package."""
    return SHIPPED_PTX / f"{kernel.name.replace(':', '-').replace('=', '').replace(',', '-')}.ptx"


@lru_cache(maxsize=1)
def _shipped_made_of() -> dict[str, str]:
    """Return what each shipped text was made of, by the name of its file."""
    try:
        made: dict[str, str] = json.loads((SHIPPED_PTX / MADE_OF).read_text(encoding="utf-8"))
    except FileNotFoundError:  # a checkout before ``make counts``
        return {}
    return made


def made_of(kernel: Kernel) -> str:
    """Return a hash of a kernel's source, comments and line breaks included."""
    return hashlib.sha256(kernel.source.encode()).hexdigest()[:16]


def write_all(folder: Path = SHIPPED_PTX) -> list[Path]:
    """Compile every kernel, variant and toy of the book into ``folder``; return the files.

    Files of kernels that are no more are removed. ``made_of.json`` tells of each file what it was
    made of.

    Raises:
        LabError: NVRTC is not installed, or a kernel does not compile.
    """
    kernels = shipped_kernels()
    texts = {folder / shipped_file(kernel).name: compile_to_ptx(kernel) for kernel in kernels}
    folder.mkdir(exist_ok=True)
    for path, text in texts.items():
        write_whole(path, text)
    for path in set(folder.glob("*.ptx")) - set(texts):
        path.unlink()
    sources = {shipped_file(kernel).name: made_of(kernel) for kernel in kernels}
    write_whole(folder / MADE_OF, json.dumps(sources, indent=1, sort_keys=True) + "\n")
    return list(texts)


def shipped_kernels() -> list[Kernel]:
    """Return the kernels whose PTX travels: the book's, their variants and its toys.

    Raises:
        LabError: as ``toys`` does.
    """
    return [*load_kernels(variants=True), *toys()]


def toys() -> list[Kernel]:
    """Return the kernels with other constants that a chapter names and no kernel's head does.

    Raises:
        LabError: there is no checkout with chapters, or a chapter names no kernel of the book.
    """
    pages = (page.read_text(encoding="utf-8") for page in data_folder("chapters").glob("*.md"))
    named = {name for page in pages for name in _NAMED.findall(page)}
    known = {kernel.name for kernel in load_kernels(variants=True)}
    return [load_kernel(name) for name in sorted(named - known)]


def say_written(files: Sequence[Path], folder: Path) -> None:
    """Say how many files there are now in a folder of what travels, and how large they are."""
    kilobytes = sum(file.stat().st_size for file in files) / 1000
    print(f"Wrote {len(files)} files, {kilobytes:,.0f} kB, to {folder}.")


def main() -> None:
    """Write the files and say how many."""
    say_written(write_all(), SHIPPED_PTX)


if __name__ == "__main__":
    main()
