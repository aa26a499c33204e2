"""Choose a kernel of a CUDA file, remove what it does not need, and compile it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sgemm_lab.cuda.compiler import DEFAULT_TARGET, CompileError, source_ptx
from sgemm_lab.external_cuda.cuda_file import Pasted, Sources, read_sources
from sgemm_lab.external_cuda.headers import (
    LIBRARIES,
    WHEELS,
    cuda_folders,
    every_fill,
    stand_in,
)
from sgemm_lab.hardware import WARP

_WARP_SIZE = re.compile(r"\bWARP_SZ\b")
"""warpSize in PTX; 32 on every GPU."""

_LACKS = "undefined|not a template|has no member|not declared|no operator|too few arguments"
"""Compiler errors that suggest a missing declaration."""

_OLD_TEXTURE = r"\btexture is not a template|identifier \"texture\" is undefined"
"""Compiler errors about texture references, which CUDA 12 removed."""

_CONCEPTS = re.compile(r"\bconcept\s+\w+\s*=|\brequires\s+[\w:]+\s*<")  # C++ 20
_OF_NAME = re.compile(r"^Line \d+ of __nv_name_map: ")
"""Prefix of NVRTC's errors in the name of a template instance."""

_SMALL_FLOATS = {"cuda_fp16.h": r"\b(?:__)?half2?\b", "cuda_bf16.h": r"\b(?:__)?nv_bfloat16"}
"""Headers of 16-bit floats and the names that they declare."""

_DOUBT = re.compile(r"^(.+?)\((\d+)\): warning #(\d+)-D: (.+)$", re.M)
_DOUBTS = {"39", "61", "62", "63", "69", "173", "174", "175", "186", "187", "940"}
"""NVRTC's warnings of a division by 0, a number or shift that leaves its type, no effect, an index
outside its array, an unsigned number compared with 0, = for ==, a function without its value."""
_CAST = re.compile(
    r"[(<]((?:un)?(?:signed )?(?:char|short)|uchar|ushort|u?int(?:8|16)_t)[)>]\s*\(?(\d+)\b(?!\.)"
)

_UNSPACED = re.compile(r'("C")(?=__)')
"""extern "C"__global__ would be a literal with a suffix."""
_CONSTANT = re.compile(r"^(?:static )?const (?=\w+ \w+ *=[^;\"]*;)", re.M)

_PRELUDE = "cuda_runtime.h"
"""The header that nvcc includes in every file."""

MOST_NAMED = 8
"""Most functions that a note names."""


class _Part(NamedTuple):
    """The text to compile, and those of its headers by name."""

    text: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Opened:
    """A compiled kernel of a file."""

    name: str
    """The kernel in C++: "tiled<16>"."""
    symbol: str
    """The kernel in the PTX."""
    ptx: str
    notes: tuple[str, ...]
    """What was left out, in sentences."""
    sources: Sources
    template_assumed: bool = False
    """Whether values of its template are neither given nor in the file."""
    doubts: tuple[tuple[int, str], ...] = ()
    """Lines that hint at a fault, and why."""


def open_file(pasted: Pasted, target: str = DEFAULT_TARGET) -> Opened:
    """Compile one kernel of a file.

    Raises:
        CompileError: it does not compile; the message names lines of the file.
        LabError: no kernel can be chosen, or a header cannot be read.
    """
    sources = read_sources(pasted)
    found = sources.ask("open_kernel", pasted.entry, gone=sources.absent)
    text, *headers = found["files"]
    part = _Part(text["text"], {**sources.fills, **{one["name"]: one["text"] for one in headers}})
    name, line = found["name"], found["line"]
    values = dict(found["values"])
    instance = ""
    if found["valuesLine"] is not None:
        told = found["valuesLine"]
        instance = (
            f"Values of the template, {f'told by line {told}' if told else 'assumed'}: --entry "
            f"'{name}'. Say them where they are others."
        )
    try:
        try:
            ptx, lowered, log = _compiled(pasted, sources, part, name, target)
        except CompileError:
            # A template whose type is assumed falls back from float to half.
            halves = {
                key: "half" if key in found["types"] and value == "float" else value
                for key, value in values.items()
            }
            if not instance or halves == values or not cuda_folders():
                raise
            other = f"{found['kernel']}<{', '.join(halves.values())}>"
            with suppress(CompileError):
                ptx, lowered, log = _compiled(pasted, sources, part, other, target)
                name = other
                instance = f"Values of the template, assumed: --entry '{name}'."
            if name != other:
                raise
    except CompileError as error:
        message = _with_line(str(error), line, name)
        if instance:
            message += f"\n{instance}"
        raise CompileError(message, error.lines or (line,)) from None
    return Opened(
        name,
        lowered,
        ptx,
        (*_notes(found, sources), *([instance] if instance else [])),
        sources,
        "of the template, assumed:" in instance,
        tuple(_doubts(log, pasted, part.text)),
    )


def _doubts(log: str, pasted: Pasted, compiled: str) -> Iterator[tuple[int, str]]:
    """Return the compiler's warnings about a file that hint at a fault, by line; and casts."""
    lines = pasted.text.split("\n")
    for file, line, kind, text in dict.fromkeys(_DOUBT.findall(log)):
        # "x >= 0 && x < n" is right for an unsigned x, too.
        is_own = file == pasted.name and kind in _DOUBTS
        if is_own and (kind != "186" or "<" not in lines[int(line) - 1]):
            yield int(line), f"the compiler warns: {text}"
    for number, line_ in enumerate(compiled.split("\n"), 1):
        for kind, value in _CAST.findall(line_.partition("//")[0]):
            if int(value) >= 2 ** (8 if re.search("char|8", kind) else 16):
                yield number, f"{value} does not fit into {kind}"


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


def _compiled(
    pasted: Pasted, sources: Sources, part: _Part, name: str, target: str
) -> tuple[str, str, str]:
    wants_floats = bool(_prelude(part, sources)[1:])
    folders = (*pasted.folders, *cuda_folders()) if sources.cuda or wants_floats else ()
    options = [f"-D{key}={value}" for key, value in pasted.defines.items()]
    options += [f"-I{folder}" for folder in folders]
    options.append("-Dregister=")  # a word of older C++ that this one refuses
    options.append("--device-int128")
    # Some files ask for their system before anything else.
    options += ["-D__linux__=1", "-D__unix__=1"]
    headers = {**every_fill(), **part.headers}
    missing = tuple(header for header in sources.cuda if not _is_found(header, folders))
    headers |= {header: stand_in(header) for header in missing}
    missing = tuple(header for header in missing if not headers[header])
    if any(name.startswith("curand") and name not in headers for name in sources.cuda):
        headers.pop("curand.h", None)  # the device header includes the host's
    options += [f"--pre-include={header}" for header in _prelude(part, sources)]
    text = _UNSPACED.sub(r"\1 ", part.text)
    if any(_CONCEPTS.search(code) for code in (text, *part.headers.values())):
        options.append("-std=c++20")
    asked: dict[str, Any] = {"options": options, "headers": headers, "name": name}
    try:
        try:
            ptx, *named = source_ptx(text, pasted.name, target, **asked)
        except CompileError as error:
            if "dynamic initialization" not in str(error):
                raise
            text = _CONSTANT.sub("constexpr ", text)  # what nvcc takes as constant
            ptx, *named = source_ptx(text, pasted.name, target, **asked)
    except CompileError as error:
        raise CompileError(f"{error}{_hint(str(error), sources, missing)}", error.lines) from None
    return _WARP_SIZE.sub(str(WARP), ptx), named[0], named[1]


def _is_found(header: str, more: Sequence[Path] = ()) -> bool:
    return any((folder / header).is_file() for folder in (*more, *cuda_folders()))


def _prelude(part: _Part, sources: Sources) -> list[str]:
    """Return headers of 16-bit floats that a library or a missing header would have included."""
    found = [_PRELUDE]
    if any(name.startswith("cub/block/") for name in sources.cuda):
        found.append("cub/cub.cuh")  # which says where its storage is used
    if sources.fills.keys() & LIBRARIES or sources.absent:
        texts = "".join((part.text, *part.headers.values()))
        for name, words in _SMALL_FLOATS.items():
            if re.search(words, texts) and any((f / name).is_file() for f in cuda_folders()):
                found.append(name)
        if re.search(r"\b(?:c10|at)::(?:Half|BFloat16)", texts):
            found.append("torch.h")
        if "numeric_limits" in texts:
            found.append("limits")
    return found


def _hint(message: str, sources: Sources, missing: Sequence[str]) -> str:
    """Return the probable reason of a compiler error."""
    if missing:
        return (
            f"\n{missing[0]} is one of CUDA's own headers, and it was not found. Set "
            f"CUDA_PATH to the folder of the CUDA toolkit, or 'pip install {WHEELS}'."
        )
    if re.search(_OLD_TEXTURE, message):
        return (
            "\nThis CUDA has no texture references any more. Give the kernel a texture object: a "
            "parameter of the type cudaTextureObject_t, read with tex2D<float>(object, x, y)."
        )
    if sources.absent and re.search(_LACKS, message):
        names = ", ".join(sources.absent)
        return f"\nThese headers were not found: {names}. Say where they lie with -I FOLDER."
    return ""


def _notes(found: Mapping[str, Any], sources: Sources) -> Iterator[str]:
    for line in found["overloads"]:
        yield f"Not looked at: {found['kernel']} with other parameters (line {line})."
    if found["silent"]:
        yield f"Does nothing here: {' and '.join(found['silent'])}."
    left_out = found["leftOut"]
    if left_out:
        more = len(left_out) - MOST_NAMED
        names = ", ".join(left_out[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"Left out, as the kernel does not need it: {names}."
    if sources.absent:
        yield f"Not found, and not needed: {', '.join(sources.absent)}."
    if "curand_kernel.h" in sources.cuda and not _is_found("curand_kernel.h"):
        yield (
            "cuRAND was not found, so other random numbers of the same distributions were drawn. "
            "For its own, set CUDA_PATH to the folder of the CUDA toolkit."
        )
