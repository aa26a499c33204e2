"""Kernels as objects: the book's by name, and the reader's own from source text."""

from collections.abc import Mapping
from pathlib import Path
from typing import overload

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda import ExternalKernel, Pasted
from sgemm_lab.kernel import Kernel, has_head_comment, parse_kernel, terms


def source(name: str) -> str:
    """Return a kernel's source as text, to edit and pass to ``mine``."""
    return load_kernel(name).source


def kernel(name: str) -> Kernel:
    """Return a kernel as an object: ``values`` of its constants, ``launch_shape``, ``title``."""
    return load_kernel(name)


@overload
def mine(text: str, name: str = "mine") -> Kernel: ...


@overload
def mine(
    text: str,
    name: str = "mine",
    *,
    grid: str,
    block: str,
    entry: str | None = None,
    args: str | None = None,
    shared_bytes: int = 0,
    define: Mapping[str, str | int] | None = None,
) -> ExternalKernel: ...


def mine(
    text: str,
    name: str = "mine",
    *,
    entry: str | None = None,
    grid: str = "",
    block: str = "",
    args: str | None = None,
    shared_bytes: int = 0,
    define: Mapping[str, str | int] | None = None,
) -> Kernel | ExternalKernel:
    """Make a kernel of the reader's own source text. Empty lines at its ends do not count.

    Text without the book's head comment may be any CUDA file as it was found, with ``main`` too.
    It then needs its launch: ``grid="ceil(N/32), ceil(M/32)"`` and ``block="32, 8"``. ``entry``
    chooses a kernel, such as "tiled<16>"; ``args`` says what it is given where that cannot be told,
    such as "M N K 1.0 A B 0.0 C" or "x:in:4096 y:out:4096 n=4096"; ``define`` sets macros. What is
    made of it goes into ``check`` and ``count``.

    Raises:
        LabError: it is no text, or the head comment lacks a field.
    """
    if not isinstance(text, str):
        raise LabError(
            f"{text!r} is not source code. Give it as text, such as lab.source('tiled')."
        )
    if grid or block or entry or args:
        defines = {key: str(value) for key, value in (define or {}).items()}
        pasted = Pasted(name, text, Path(), entry, (), defines)
        launch = tuple(terms(grid)), tuple(terms(block)), str(shared_bytes)
        return ExternalKernel(pasted, *launch, args)
    source = text.strip() + "\n"
    try:
        return parse_kernel(name, source)
    except LabError as error:
        if has_head_comment(source):
            raise
        raise LabError(
            f"{error} Or say how its kernel is launched: "
            "lab.mine(text, grid='ceil(N/32), ceil(M/32)', block='32, 32')."
        ) from None
