"""Choose a kernel of a CUDA file, remove what it does not need, and compile it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sgemm_lab.cuda.compiler import DEFAULT_TARGET, CompileError, source_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.declarations import UnevenError
from sgemm_lab.external_cuda.device_code import DevicePart, Sources, device_part, read_sources
from sgemm_lab.external_cuda.headers import (
    CURAND_WHEEL,
    LIBRARIES,
    WHEELS,
    cuda_folders,
    every_fill,
)
from sgemm_lab.external_cuda.kernels import (
    FoundKernel,
    FoundLaunch,
    choose,
    kernels_of,
    launches_of,
    launches_of_kernel,
    template_values,
)
from sgemm_lab.external_cuda.template_arguments import usual_values
from sgemm_lab.external_cuda.tokens import tokens_of
from sgemm_lab.hardware import WARP
from sgemm_lab.simulator.ptx import PtxKernel, describe

_WARP_SIZE = re.compile(r"\bWARP_SZ\b")
"""warpSize in PTX; 32 on every GPU."""

_LACKS = "undefined|not a template|has no member|not declared|no operator|too few arguments"
"""Compiler errors that suggest a missing declaration."""

_OLD_TEXTURE = r"\btexture is not a template|identifier \"texture\" is undefined"
"""Compiler errors about texture references, which CUDA 12 removed."""

_OF_NAME = re.compile(r"^Line \d+ of __nv_name_map: ")
"""Prefix of NVRTC's errors in the name of a template instance."""

_SMALL_FLOATS = {"cuda_fp16.h": r"\b(?:__)?half2?\b", "cuda_bf16.h": r"\b(?:__)?nv_bfloat16"}
"""Headers of 16-bit floats and the names that they declare."""

_UNSPACED = re.compile(r'("C")(?=__)')
"""extern "C"__global__ would be a literal with a suffix."""
_CONSTANT = re.compile(r"^(?:static )?const (?=\w+ \w+ *=[^;\"]*;)", re.M)
"""A constant of the file."""

_PRELUDE = "cuda_runtime.h"
"""The header that nvcc includes in every file."""

MOST_NAMED = 8
"""Most functions that a note names."""


@dataclass(frozen=True)
class Pasted:
    """The text of a CUDA file, and which of its kernels to compile."""

    name: str
    """File name in messages."""
    text: str
    folder: Path
    """The file's folder, searched for headers."""
    entry: str | None = None
    """The kernel: a name, part of one, or a template with its arguments, such as "tiled<16>"."""
    folders: tuple[Path, ...] = ()
    """Further header folders."""
    defines: Mapping[str, str] = field(default_factory=dict)
    """Macros: name to value."""


@dataclass(frozen=True)
class Opened:
    """A compiled kernel of a file."""

    kernel: FoundKernel
    name: str
    """The kernel in C++: "tiled<16>"."""
    ptx: str
    compiled: PtxKernel
    notes: tuple[str, ...]
    """What was left out, in sentences."""
    launches: tuple[FoundLaunch, ...]
    """The file's launches of this kernel."""
    sources: Sources
    template_assumed: bool = False
    """Whether values of its template are neither given nor in the file."""


def open_file(pasted: Pasted, target: str = DEFAULT_TARGET) -> Opened:
    """Compile one kernel of a file.

    Raises:
        CompileError: it does not compile; the message names lines of the file.
        LabError: no kernel can be chosen, or a header cannot be read.
    """
    try:
        sources = read_sources(pasted.text, pasted.folder / pasted.name, pasted.folders)
    except UnevenError as uneven:
        raise LabError(f"{pasted.name} cannot be read. {uneven}") from None
    launches = launches_of(sources)
    instance = ""

    def values_of(kernel: FoundKernel) -> str:
        nonlocal instance
        values, instance = usual_values(kernel, launches, sources, pasted.defines)
        return values

    kernel, name = choose(kernels_of(sources), launches, pasted.entry, pasted.name, values_of)
    if not kernel.declaration.has_body:
        raise LabError(
            f"{pasted.name} only announces the kernel {kernel.name}. Give the file that has its "
            "body."
        )
    _refuse_launches_inside(kernel, sources)
    part = device_part(sources, [d for d in sources.kernels if kernel.declaration.names & d.names])
    try:
        name, ptx, lowered = _instance(pasted, sources, part, kernel, name, bool(instance), target)
    except CompileError as error:
        line = sources.line_of(kernel.declaration, kernel.declaration.tokens[0])
        message = _with_line(str(error), line, name)
        if instance:
            message += f"\n{instance}"
        raise CompileError(message, error.lines or (line,)) from None
    if instance and name not in instance:
        instance = f"Values of the template, assumed: --entry '{name}'."
    return Opened(
        kernel,
        name,
        ptx,
        describe(ptx, lowered),
        (*_notes(part), *([instance] if instance else [])),
        tuple(launches_of_kernel(kernel, launches)),
        sources,
        "of the template, assumed:" in instance,
    )


def _instance(
    pasted: Pasted,
    sources: Sources,
    part: DevicePart,
    kernel: FoundKernel,
    name: str,
    assumed: bool,
    target: str,
) -> tuple[str, str, str]:
    """Compile; a template whose type is assumed falls back from float to half."""
    try:
        return name, *_compiled(pasted, sources, part, name, target)
    except CompileError:
        types = [p.name for p in kernel.template if p.type == "typename"]
        values = template_values(kernel, name)
        halves = {key: "half" if key in types and v == "float" else v for key, v in values.items()}
        if not assumed or halves == values or not cuda_folders():
            raise
        other = f"{kernel.name}<{', '.join(halves.values())}>"
        try:
            return other, *_compiled(pasted, sources, part, other, target)
        except CompileError:
            pass
        raise


def _with_line(message: str, line: int, name: str) -> str:
    """Replace NVRTC's position in the name list by the kernel's line."""
    told = []
    for text in message.split("\n"):
        reason = _OF_NAME.sub("", text)
        if reason == text:
            told.append(text)
        elif "name expression" not in reason:
            told.append(f"Line {line}: {reason}, wanted for {name}")
    return "\n".join(dict.fromkeys(told))


def _refuse_launches_inside(kernel: FoundKernel, sources: Sources) -> None:
    inside = next((t for t in kernel.declaration.tokens if t.text == "<<<"), None)
    if inside is not None:
        line = sources.line_of(kernel.declaration, inside)
        raise LabError(
            f"Line {line}: {kernel.name} launches another kernel, which only a GPU does. "
            "Give the inner kernel to --entry, and look at it alone."
        )


def _compiled(
    pasted: Pasted, sources: Sources, part: DevicePart, name: str, target: str
) -> tuple[str, str]:
    wants_floats = bool(_prelude(part, sources)[1:])
    folders = (*pasted.folders, *cuda_folders()) if sources.cuda or wants_floats else ()
    options = [f"-D{key}={value}" for key, value in pasted.defines.items()]
    options += [f"-I{folder}" for folder in folders]
    options.append("-Dregister=")  # a word of older C++ that this one refuses
    options.append("-D__linux__=1")  # some files ask for their system before anything else
    headers = {**every_fill(), **part.headers}
    missing = tuple(
        header
        for header in sources.cuda
        if not any((folder / header).is_file() for folder in folders)
    )
    headers |= dict.fromkeys(missing, "")
    if any(name.startswith("curand") for name in sources.cuda):
        headers.pop("curand.h", None)  # the device header includes the host's
    options += [f"--pre-include={header}" for header in _prelude(part, sources)]
    text = _UNSPACED.sub(r"\1 ", part.text)
    try:
        try:
            ptx, lowered = source_ptx(
                text, pasted.name, target, options=options, headers=headers, name=name
            )
        except CompileError as error:
            if "dynamic initialization" not in str(error):
                raise
            text = _CONSTANT.sub("constexpr ", text)  # what nvcc takes as constant
            ptx, lowered = source_ptx(
                text, pasted.name, target, options=options, headers=headers, name=name
            )
    except CompileError as error:
        raise CompileError(f"{error}{_hint(str(error), sources, missing)}", error.lines) from None
    return _WARP_SIZE.sub(str(WARP), ptx), lowered


def _prelude(part: DevicePart, sources: Sources) -> list[str]:
    """Return headers of 16-bit floats that a library or a missing header would have included."""
    found = [_PRELUDE]
    if sources.fills.keys() & LIBRARIES or sources.absent:
        texts = "".join((part.text, *part.headers.values()))
        for name, words in _SMALL_FLOATS.items():
            if re.search(words, texts) and any((f / name).is_file() for f in cuda_folders()):
                found.append(name)
        if "numeric_limits" in texts:
            found.append("limits")
    return found


def _hint(message: str, sources: Sources, missing: Sequence[str]) -> str:
    """Return the probable reason of a compiler error."""
    if missing:
        random = any(name.startswith("curand") for name in missing)
        wheels = f"{WHEELS} {CURAND_WHEEL}" if random else WHEELS
        return (
            f"\n{missing[0]} is one of CUDA's own headers, and it was not found. Set "
            f"CUDA_PATH to the folder of the CUDA toolkit, or 'pip install {wheels}'."
        )
    if re.search(_OLD_TEXTURE, message):
        return (
            "\nThis CUDA has no texture references any more. Give the kernel a texture object: a "
            "parameter of the type cudaTextureObject_t, read with tex2D<float>(object, x, y)."
        )
    if sources.absent and re.search(_LACKS, message):
        names = ", ".join(dict.fromkeys(name for _, _, name in sources.absent))
        return f"\nThese headers were not found: {names}. Say where they lie with -I FOLDER."
    return ""


def _notes(part: DevicePart) -> tuple[str, ...]:
    notes = []
    words = {token.text for token in tokens_of(part.text) if token.kind == "name"}
    silent = [word for word in ("printf", "assert") if word in words]
    if silent:
        notes.append(f"Does nothing here: {' and '.join(silent)}.")
    if part.left_out:
        more = len(part.left_out) - MOST_NAMED
        names = ", ".join(part.left_out[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"Left out, as the kernel does not need it: {names}.")
    if part.absent:
        names = ", ".join(dict.fromkeys(name for _, _, name in part.absent))
        notes.append(f"Not found, and not needed: {names}.")
    return tuple(notes)
