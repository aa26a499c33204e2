"""The catalogue of the book's kernels: the ``.cu`` files of the folder ``kernels``, by name.

A file is called ``NNN_name.cu``. The numbers give the order; 115 fits between 110 and 120.
``device.cuh`` has what several of them share.
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, read_source
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.shared_code import FILE, INCLUDE, with_shared_code

Files = tuple[tuple[str, int], ...]
"""Paths of files, each with its modification time in nanoseconds."""

_FILE_NAME = re.compile(r"(\d+)([a-z]*)_(\w+)", re.A)


def load_kernels(*, variants: bool = False) -> list[Kernel]:
    """Return every kernel of the book in order; with ``variants`` also each kernel's variants."""
    files = _book_files()
    return list(_with_variants(files) if variants else _read_kernels(files).values())


def load_kernel(name: str) -> Kernel:
    """Return the kernel with this name: "tiled", or "tiled:TILE=16" with another constant.

    Raises:
        LabError: there is no such kernel (the message names the nearest) or constant.
    """
    return _load_kernel(name, _book_files())


def book_kernel(name: str) -> Kernel | None:
    """Return the kernel with this name, or None if there is no such kernel or constant."""
    return book_kernels([name])[0]


def book_kernels(names: Iterable[str]) -> list[Kernel | None]:
    """Return what ``book_kernel`` does for each name; the folder is listed once."""
    files = _book_files()
    return [_book_kernel(name, files) for name in names]


def _book_kernel(name: str, files: Files) -> Kernel | None:
    if name.partition(":")[0] not in _read_kernels(files):
        return None
    try:
        return _load_kernel(name, files)
    except LabError:  # an unknown constant, for example one that the kernel had in the past
        return None


def load_kernel_file(path: Path) -> Kernel:
    """Read a kernel from a file with the book's head comment.

    The book's ``device.cuh`` is inlined where the file includes it.

    A file with the code of a book kernel gives that kernel. Any other kernel is named after its
    file, without the number; if a book kernel has that name, ".cu" is appended.

    Raises:
        LabError: the file cannot be read, or its head comment lacks a field.
    """
    names = _read_kernels(_book_files())
    match = _FILE_NAME.fullmatch(path.stem)
    base = match[3] if match else path.stem
    name = base if base in names else path.stem
    kernel = _parse_file(name, path)
    if is_builtin(kernel):
        return load_kernel(name)
    return replace(kernel, name=f"{name}.cu") if name in names else kernel


def is_builtin(kernel: Kernel) -> bool:
    """Return whether the code equals that of the book kernel with this name."""
    same = book_kernel(kernel.name)
    return same is not None and same.fingerprint == kernel.fingerprint


def file_name(kernel: Kernel) -> str:
    """Return the file name of a book kernel in ``kernels/``, such as "030_tiled.cu"."""
    paths = (Path(path) for path, _ in _book_files())
    sources = (path for path in paths if path.suffix == ".cu")
    return next(path.name for path in sources if _split_name(path)[2] == kernel.base_name)


def _book_files() -> Files:
    # Listed at every look-up, so that an edited file is read again.
    with os.scandir(data_folder("kernels")) as found:
        return tuple(
            sorted(
                (f.path, f.stat().st_mtime_ns) for f in found if f.name.endswith((".cu", ".cuh"))
            )
        )


@lru_cache(maxsize=4)
def _read_kernels(files: Files) -> Mapping[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    paths = (Path(name) for name, _ in files)
    for path in sorted((path for path in paths if path.suffix == ".cu"), key=_split_name):
        name = _split_name(path)[2]
        if name in kernels:
            raise LabError(f"Two files in {path.parent} are called '{name}'. Rename one of them.")
        kernels[name] = _parse_file(name, path)
    return kernels


def _parse_file(name: str, path: Path) -> Kernel:
    source = read_source(path)
    if INCLUDE in source:
        source = with_shared_code(source, read_source(data_folder("kernels") / FILE))
    return parse_kernel(name, source)


def _split_name(path: Path) -> tuple[int, str, str]:
    """Return the parts of a file name: number, letters after the number, and kernel name."""
    match = _FILE_NAME.fullmatch(path.stem)
    if match is None:
        raise LabError(
            f"The file {path} has no place among the kernels. Call it NN_{path.stem}.cu, "
            "with a number between those of its neighbours."
        )
    return int(match[1]), match[2], match[3]


@lru_cache(maxsize=4)
def _with_variants(files: Files) -> tuple[Kernel, ...]:
    return tuple(
        one
        for kernel in _read_kernels(files).values()
        for one in (kernel, *(load_kernel(f"{kernel.name}:{each}") for each in kernel.variants))
    )


@lru_cache(maxsize=1024)
def _load_kernel(name: str, files: Files) -> Kernel:
    kernels = _read_kernels(files)
    base, _, settings = name.partition(":")
    if base not in kernels:
        near = difflib.get_close_matches(base, kernels, n=1, cutoff=0.4)
        hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(kernels)}."
        raise LabError(f"There is no kernel called '{base}'.{hint}")
    if not settings:
        return kernels[base]
    return kernels[base].with_constants(**_constants(name))


def _constants(name: str) -> dict[str, int]:
    """Return the constants in a name such as "tiled:TILE=16"."""
    base, _, settings = name.partition(":")
    pairs = [pair.partition("=") for pair in settings.split(",")]
    if not all(constant and value.isdecimal() for constant, _, value in pairs):
        raise LabError(f"'{name}' cannot be read. Write it like '{base}:TILE=16'.")
    return {constant: int(value) for constant, _, value in pairs}
