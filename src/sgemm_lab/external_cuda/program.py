"""Follow a file's own ``main`` on its own data: see ``program/program.ts``."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sgemm_lab.clang.package import SCRIPT, package_files
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.compile_file import open_file
from sgemm_lab.external_cuda.cuda_file import Pasted, read_sources

MOST_KERNELS = 24
"""Kernels that are compiled for one program."""

SECONDS = 4.0
"""Processor time of one attempt to follow a program."""

HALVINGS = (8,)
"""How often large constants of the file are halved where it takes too long."""

Program = Mapping[str, Any]
"""What Node says of a program: see ``Followed`` in ``program/program.ts``."""


def follow_program(pasted: Pasted, target: str = DEFAULT_TARGET) -> Program:
    """Follow the ``main`` of a file, with its launches in the simulator.

    Where that takes too long it is followed again with smaller constants.

    Raises:
        LabError: the file cannot be read, or a kernel that it launches does not compile.
    """
    followed = _follow(pasted, target)
    for halvings in HALVINGS:
        if followed["isSettled"]:
            break
        made = read_sources(pasted).ask("smaller_sizes", halvings=halvings)
        if not made["changed"]:
            break
        with suppress(LabError):
            other = _follow(replace(pasted, text=made["text"]), target)
            if other["isSettled"] or len(other["launched"]) > len(followed["launched"]):
                followed = {**other, "sizes": f"So that it runs here, {made['changed']}."}
    return followed


def is_wrong(program: Program, kernel: str) -> bool:
    """Return whether the program showed an error of a kernel."""
    name = kernel.partition("<")[0].rpartition("::")[2]
    return any(one["severity"] == "error" for one in program["findings"].get(name, ()))


def _follow(pasted: Pasted, target: str) -> Program:
    """Follow a program; the kernels that it has are compiled as it names them."""
    sources = read_sources(pasted)
    kernels: dict[str, dict[str, str]] = {}
    clang = (package_files() / SCRIPT).as_uri()
    while True:
        done: Program = sources.ask("follow_program", kernels=kernels, seconds=SECONDS, clang=clang)
        needs = done["needs"]
        if needs is None:
            return done
        kernels[needs] = _compiled(replace(pasted, entry=needs), target, len(kernels))


def _compiled(pasted: Pasted, target: str, number: int) -> dict[str, str]:
    """Compile a kernel, or say why there is none: it may be one that is never launched."""
    if number >= MOST_KERNELS:
        return {"ptx": "", "entry": "", "refused": f"it has more than {MOST_KERNELS} kernels"}
    try:
        opened = open_file(pasted, target)
    except LabError as refused:
        return {"ptx": "", "entry": "", "refused": str(refused)}
    return {"ptx": opened.ptx, "entry": opened.symbol}
