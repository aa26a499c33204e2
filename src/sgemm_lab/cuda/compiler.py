"""NVRTC: kernel source to PTX and machine code, with what it costs. Needs no GPU.

NVRTC is reached through CuPy, so a machine that can launch a kernel can also compile it.
"""

import ctypes
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgemm_lab.cuda.code_cache import MachineCode, cached
from sgemm_lab.cuda.isolated import in_subprocess
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.hardware import STATIC_SHARED
from sgemm_lab.kernel import ENTRY, Kernel
from sgemm_lab.text import filled, templates

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
"""The GPU targets every kernel of the book compiles for."""

DEFAULT_TARGET = "sm_90"

_SENTENCES = templates(Path(__file__).with_name("sentences.json"))
_CACHE = "CUPY_CACHE_DIR"
_OPTIONS = ("-std=c++17", "-lineinfo")
_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.+)$", re.M)
_ASSERTION = re.compile(r'static assertion failed with "(.+)"')
_TOO_MUCH_SHARED = re.compile(r"uses too much shared data \((0x\w+) bytes, (0x\w+) max\)")
_DECLARED_SHARED = re.compile(r"^\s*\.shared\b.*\[(\d+)\];", re.M)
_PTX_FOLDER = re.compile(r'^(\s*\.file\s+\d+\s+")[^"]*/', re.M)


class CompileError(LabError):
    """The source does not compile. ``lines`` are the 1-based line numbers of the errors."""

    def __init__(self, message: str, lines: tuple[int, ...]) -> None:
        super().__init__(message, lines)
        self.lines = lines

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made of one source for one target. Bytes are per thread or per block."""

    target: str
    ptx: str
    cubin: bytes
    registers: int
    """Registers of one thread."""
    spill_bytes: int
    """Bytes a thread stores to and loads from local memory because registers ran out."""
    shared_bytes: int
    """Static shared memory of one block."""


def compile_kernel(kernel: Kernel, target: str = DEFAULT_TARGET) -> Compiled:
    """Compile a kernel for one target, such as "sm_90".

    Raises:
        CompileError: the source has errors; the message gives line and reason.
        LabError: the kernel needs a newer target, or NVRTC is not installed.
    """
    return compile_source(kernel.source, _file_name(kernel), _whole_target(kernel, target))


def compile_to_ptx(kernel: Kernel, target: str = DEFAULT_TARGET) -> str:
    """Compile a kernel to PTX only: half the work, where machine code is not wanted."""
    return _source_to_ptx(kernel.source, _file_name(kernel), _whole_target(kernel, target))


def _file_name(kernel: Kernel) -> str:
    return f"{kernel.base_name.removesuffix('.cu')}.cu"


def _whole_target(kernel: Kernel, target: str) -> str:
    """Return the target with its "a" where the kernel needs what only that one has."""
    if not suits(kernel, target):
        raise LabError(
            f"The kernel '{kernel.name}' uses instructions that a GPU has {_from(kernel)}. "
            f"It cannot be built for {target}."
        )
    return kernel.needs if kernel.needs == f"{target}a" else target


def suits(kernel: Kernel, target: str) -> bool:
    """Say whether a target, such as "sm_75", has the instructions that a kernel needs.

    What a target whose name ends in "a" has, no other target need have, and none later.
    """
    if kernel.needs is None:
        return True
    if kernel.needs.endswith("a"):
        return target in (kernel.needs, kernel.needs.removesuffix("a"))
    return _number(target) >= _number(kernel.needs)


def _from(kernel: Kernel) -> str:
    needs = str(kernel.needs)
    return f"of {needs.removesuffix('a')} only" if needs.endswith("a") else f"from {needs} on"


def compile_source(source: str, file_name: str, target: str, entry: str = ENTRY) -> Compiled:
    """Compile CUDA C++ text. ``file_name`` is what error messages call it."""
    made = _machine_code(source, file_name, target)
    # The log has a paragraph per entry, and before them remarks that may name one too.
    begins = f"Compiling entry function '{entry}'"
    if begins not in made.log:
        raise _no_entry(entry)
    paragraph = made.log.partition(begins)[2].partition("Compiling entry function")[0]
    registers = re.search(r"Used (\d+) registers", paragraph)
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", paragraph)
    shared = re.search(r"(\d+) bytes smem", paragraph)
    if registers is None or spills is None:
        raise LabError(f"NVRTC did not report what the kernel uses. Its log: {made.log}")
    return Compiled(
        target=target,
        ptx=made.ptx,
        cubin=made.cubin,
        registers=int(registers[1]),
        spill_bytes=int(spills[1]) + int(spills[2]),
        shared_bytes=int(shared[1]) if shared else 0,
    )


@lru_cache(maxsize=256)
def _machine_code(source: str, file_name: str, target: str) -> MachineCode:
    # A result from NVRTC's cache comes without the log, which has registers and spills.
    options = (f"-arch={target}", "--ptxas-options=-v", "-no-cache")

    def compiled() -> MachineCode:
        with _program(source, file_name, target, options) as (nvrtc, program):
            # CuPy takes the last byte for the end of a text, but machine code has no such end.
            cubin = nvrtc.getCUBIN(program) + b"\0"
            return MachineCode(_ptx(nvrtc, program), cubin, nvrtc.getProgramLog(program))

    version = load_nvrtc().getVersion()
    return cached((source, file_name, *_OPTIONS, *options, str(version)), compiled)


@lru_cache(maxsize=256)
def _source_to_ptx(source: str, file_name: str, target: str, entry: str = ENTRY) -> str:
    options = (f"-arch={target.replace('sm_', 'compute_')}",)
    with _program(source, file_name, target, options) as (nvrtc, program):
        ptx = _ptx(nvrtc, program)
    if sum(map(int, _DECLARED_SHARED.findall(ptx))) > STATIC_SHARED:
        # The assembler says what is too much.
        return compile_source(source, file_name, target, entry).ptx
    if not re.search(rf"\.entry\s+{re.escape(entry)}\b", ptx):
        raise _no_entry(entry)
    return ptx


def _no_entry(entry: str) -> LabError:
    return LabError(
        f"The source has no kernel called '{entry}'. It needs one: "
        f'extern "C" __global__ void {entry}(…).'
    )


def source_ptx(
    source: str,
    file_name: str,
    target: str = DEFAULT_TARGET,
    *,
    options: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    name: str = "",
) -> tuple[str, str, str]:
    """Return the PTX of CUDA C++ text, what a kernel of it is called there, and NVRTC's log.

    ``options`` are NVRTC's, such as "-DTILE=16"; ``headers`` are texts by the names that the source
    includes. Functions that do not say where they run count as device code. ``name`` is a kernel as
    C++ names it, such as "tiled<16>", and is instantiated; without one "" is returned for it.
    NVRTC runs in a process of its own: a source that makes it crash is refused with a sentence.

    Raises:
        CompileError: the source has errors; the message gives line and reason.
        LabError: NVRTC is not installed.
    """
    virtual = target.replace("sm_", "compute_")
    options = (f"-arch={virtual}", "--device-as-default-execution-space", *options)
    return _isolated_ptx(
        source, file_name, target, options, tuple((headers or {}).items()), (name,) if name else ()
    )


# A kernel is compiled to follow the program of its file, and to be checked by itself.
@lru_cache(maxsize=256)
def _isolated_ptx(
    source: str,
    file_name: str,
    target: str,
    options: tuple[str, ...],
    headers: tuple[tuple[str, str], ...],
    names: tuple[str, ...],
) -> tuple[str, str, str]:
    load_nvrtc()

    def compiled() -> tuple[str, str, str]:
        with _program(source, file_name, target, options, dict(headers), names) as found:
            nvrtc, program = found
            lowered = [nvrtc.getLoweredName(program, name) for name in names]
            return _ptx(nvrtc, program), "".join(lowered), nvrtc.getProgramLog(program)

    return in_subprocess(compiled, f"The compiler, given {file_name},")


def _options(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the options of every program; NVRTC takes each only once."""
    names = {option.partition("=")[0] for option in asked}
    return tuple(option for option in _OPTIONS if option.partition("=")[0] not in names)


@contextmanager
def _program(
    source: str,
    file_name: str,
    target: str,
    options: Sequence[str],
    headers: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
) -> Iterator[tuple[Any, Any]]:
    """Compile, and give NVRTC and its program. ``names`` are instantiated."""
    nvrtc = load_nvrtc()
    named = {name.encode(): text.encode() for name, text in (headers or {}).items()}
    program = nvrtc.createProgram(source, file_name, tuple(named.values()), tuple(named))
    for name in names:
        nvrtc.addNameExpression(program, name)
    try:
        try:
            nvrtc.compileProgram(program, (*_options(options), *options))
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            raise _compile_error(log or str(error), file_name, target) from None
        yield nvrtc, program
    finally:
        nvrtc.destroyProgram(program)


def load_nvrtc() -> Any:
    """Return CuPy's NVRTC module.

    Raises:
        MissingToolError: CuPy or the NVRTC library is missing.
    """
    _find_cache()
    missing = MissingToolError(
        "The CUDA compiler NVRTC is not installed. Install it with "
        "'pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12'; it needs no GPU."
    )
    try:
        from cupy.cuda import nvrtc
    except (ImportError, OSError):
        raise missing from None
    for library in (None, *_nvrtc_packages()):
        try:
            if library is not None:
                ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
            nvrtc.getVersion()
        except (ImportError, OSError, RuntimeError):
            continue
        return nvrtc
    raise missing


def _nvrtc_packages() -> Iterator[Path]:
    """Where packages of Python put NVRTC. CuPy before 14 looks for it in the system alone."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations if found else None) or ():
        yield from sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))


def import_cupy() -> Any:
    """Return CuPy. Where the home folder cannot be written, its cache goes to a temporary one.

    Raises:
        ImportError: CuPy is not installed.
    """
    _find_cache()
    import cupy

    return cupy


def _find_cache() -> None:
    """Give CuPy another folder for its cache where it cannot make its own, or it does not start."""
    if "cupy" in sys.modules:
        return
    folder = Path(os.environ.get(_CACHE) or os.path.expanduser("~/.cupy/kernel_cache"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        os.environ[_CACHE] = tempfile.mkdtemp(prefix="cupy-cache-")


def _ptx(nvrtc: Any, program: Any) -> str:
    # NVRTC puts the current folder before the file's name, though there is no such file.
    return _PTX_FOLDER.sub(r"\1", nvrtc.getPTX(program).decode().rstrip("\0"))


def _compile_error(log: str, file_name: str, target: str) -> CompileError:
    found = [(file, int(line), reason) for file, line, reason in _ERROR.findall(log)]
    if not found:
        return CompileError(
            f"{file_name} does not compile for {target}. {_reason(log, target)}", ()
        )
    sentences = []
    for file, line, reason in found:
        assertion = _ASSERTION.search(reason)
        where = f"Line {line}" if file == file_name else f"Line {line} of {file}"
        sentences.append(f"{where}: {assertion[1] if assertion else reason}")
    message = f"{file_name} does not compile for {target}.\n" + "\n".join(sentences)
    return CompileError(message, tuple(line for file, line, _ in found if file == file_name))


def _reason(log: str, target: str) -> str:
    """Return why a source was refused, where no line of it is to blame."""
    if too_much := _TOO_MUCH_SHARED.search(log):
        wanted, limit = (int(number, 16) for number in too_much.groups())
        return filled(_SENTENCES["shared"], {"wanted": wanted, "limit": limit})
    if "invalid value for --gpu-architecture" in log:
        return f"This version of NVRTC does not know {target}."
    return "\n".join(line.strip() for line in log.splitlines() if "ptxas info" not in line).strip()


def _number(target: str) -> int:
    return int(target.removeprefix("sm_").removesuffix("a"))
