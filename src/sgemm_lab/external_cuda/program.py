"""Follow a file's own ``main`` on its own data: see ``program/program.ts``."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any

from sgemm_lab.clang.package import SCRIPT, package_files
from sgemm_lab.cuda.code_cache import cache_folder
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.compile_file import open_file
from sgemm_lab.external_cuda.cuda_file import Pasted, read_sources

MOST_KERNELS = 24
"""Kernels of a program that are compiled before it is followed, whether or not it launches them."""

MOST_LAUNCHED = 64
"""Kernels that are compiled for one program; after the first ones only those that it launches."""

COMPILING_SECONDS = 30.0
"""After compiling for so long, no further kernel of a program is compiled."""

SECONDS = 4.0
"""Processor time of one attempt to follow a program."""

HEADERS = "host_headers.pch"
"""File in the cache folder: C++'s headers as clang has read them once."""

HALVINGS = ((8, 256), (9, 128))
"""How often large constants are halved where it takes too long, and what none falls below."""

Program = Mapping[str, Any]
"""What Node says of a program: see ``Followed`` in ``program/program.ts``. ``text``: the file with
the constants that were followed; ``kernels``: what it launches, compiled; ``called``: the names of
those that it came to; ``isSketch``: it fills no array."""


def follow_program(
    pasted: Pasted, target: str = DEFAULT_TARGET, progress: Callable[[str], None] = lambda _: None
) -> Program:
    """Follow the ``main`` of a file, with its launches in the simulator.

    Where that takes too long it is followed again with smaller constants. Of a file without a main
    the functions are called that launch kernels, with arguments that are made up. ``progress`` is
    called with what is being done.
    """
    text = read_sources(pasted).ask("program_text")
    if text is None:
        raise LabError(f"{pasted.name} has no main.")
    is_sketch = text != pasted.text
    pasted = replace(pasted, text=text)
    followed = _follow(pasted, target, is_sketch, progress)
    for halvings, least in HALVINGS:
        if followed["isSettled"]:
            break
        made = read_sources(pasted).ask("smaller_sizes", halvings=halvings, least=least)
        if not made["changed"]:
            break
        with suppress(LabError):
            smaller = replace(pasted, text=made["text"])
            other = _follow(smaller, target, is_sketch, progress)
            if any(one["kind"] == "launch" for all_ in other["findings"].values() for one in all_):
                break  # its grid or block may fit its own sizes alone
            if not other["isSettled"] and len(other["launched"]) <= len(followed["launched"]):
                break  # what takes so long hardly depends on them
            followed = {**other, "sizes": f"So that it runs here, {made['changed']}."}
    return followed


def is_wrong(program: Program, kernel: str) -> bool:
    """Return whether the program showed an error of a kernel."""
    return any(one["severity"] == "error" for one in program["findings"].get(_plain(kernel), ()))


def launch_of(program: Program, kernel: str) -> dict[str, Any] | None:
    """Return how the program launches a kernel, for ``python_requests.ts``; None if it does not.

    Args:
        program: the program.
        kernel: a name; with the values of its template only that instance is meant.
    """
    names = [
        name
        for name in program["called"]
        if _plain(name) == _plain(kernel) and (name == kernel or "<" not in kernel)
    ]
    if not names:
        return None
    given = ("kernels", "seconds", "clang", "isSketch")
    return {"name": names[0], **{one: program[one] for one in given}}


def _plain(kernel: str) -> str:
    return kernel.partition("<")[0].rpartition("::")[2]


def _follow(
    pasted: Pasted, target: str, is_sketch: bool, progress: Callable[[str], None]
) -> Program:
    """Follow a program; the kernels that it has are compiled as it names them."""
    sources, compiling = read_sources(pasted), 0.0
    kernels: dict[str, dict[str, str]] = {}
    clang = (package_files() / SCRIPT).as_uri()
    headers = ""
    if folder := cache_folder():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        headers = str(folder / HEADERS)
    while True:
        given: dict[str, Any] = {
            "kernels": kernels,
            "seconds": SECONDS,
            "clang": clang,
            "isSketch": is_sketch,
        }
        progress("run the program's launches")
        done: Program = sources.ask("follow_program", **given, headers=headers)
        needs = done["needs"]
        if needs is None:
            return {**given, **done, "text": pasted.text}
        began = monotonic()
        progress(f"compile {needs}")
        try:
            if len(kernels) >= MOST_LAUNCHED:
                raise LabError(f"after {MOST_LAUNCHED} kernels it launches {needs}")
            if compiling >= COMPILING_SECONDS:
                raise LabError(f"it launches {needs}, and compiling its kernels takes too long")
            opened = open_file(replace(pasted, entry=needs), target)
            kernels[needs] = {"ptx": opened.ptx, "entry": opened.symbol}
        except LabError as refused:  # it may be one that is never launched
            kernels[needs] = {"ptx": "", "entry": "", "refused": str(refused)}
        compiling += monotonic() - began
