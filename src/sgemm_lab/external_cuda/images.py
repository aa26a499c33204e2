"""Textures and surfaces of which the reader says nothing: their elements, sides and modes, assumed.

What an element is stands in the call, as ``tex2D<uchar4>(image, …)``; how many sides there are, in
the PTX. How a texture is read is set by host code, in words that are looked for in the whole file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from sgemm_lab.external_cuda.arguments import Image
from sgemm_lab.external_cuda.declarations import after_angles
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.elements import element_of
from sgemm_lab.external_cuda.signatures import Parameter
from sgemm_lab.external_cuda.tokens import Token
from sgemm_lab.simulator.ptx import PtxKernel

_SIDE, _LAYERS = 64, 8
"""Sides that nothing tells."""

_CALL = re.compile(r"(?:tex|surf)[123]D\w*")
_OF = r"(?:image|img|tex|in|src)?_?"
_WIDTH = re.compile(rf"{_OF}(?:width|w|nx|cols|dimx)", re.I)
_HEIGHT = re.compile(rf"{_OF}(?:height|h|ny|rows|dimy)", re.I)
_DEPTH = re.compile(rf"{_OF}(?:depth|d|nz|dimz|(?:num_?)?layers)", re.I)

_OF_RESULT = {"f32": "float", "s32": "int", "u32": "uchar"}
_OF_BITS = {
    ("b8", 1): "uchar", ("b8", 2): "uchar2", ("b8", 4): "uchar4",
    ("b16", 1): "ushort", ("b16", 2): "ushort2", ("b16", 4): "ushort4",
    ("b32", 1): "float", ("b32", 2): "float2", ("b32", 4): "float4",
    ("b64", 1): "float2", ("b64", 2): "float4",
}  # fmt: skip
"""What the elements of a surface may be, by what moves at once."""
_ONE_WORD = {
    "unsigned char": "uchar", "signed char": "char", "unsigned short": "ushort",
    "unsigned int": "uint", "unsigned": "uint",
}  # fmt: skip
"""Types that ``--args`` could not write."""
_SMALL = {"float": "uchar", "float1": "uchar1", "float2": "uchar2", "float4": "uchar4"}
"""What lies in memory where fractions of it are read."""

_FRACTIONS = "cudaReadModeNormalizedFloat"
_WORDS = {
    "cudaFilterModeLinear": "linear",
    "cudaAddressModeBorder": "border",
    "cudaAddressModeWrap": "wrap",
    "cudaAddressModeMirror": "mirror",
}


def assumed_image(
    kernel: PtxKernel,
    own: str,
    parameter: Parameter,
    name: str,
    numbers: Mapping[str, int],
    most: int,
    sources: Sources,
) -> Image:
    """Return what a parameter that is a texture or surface is given.

    Args:
        kernel: the kernel, compiled.
        own: the parameter's name there.
        parameter: what the source says of it.
        name: how it is called.
        numbers: the whole numbers that the kernel is given, by name.
        most: elements of an image that is a line.
        sources: the file.
    """
    texture = parameter.image == "texture"
    uses = _uses(kernel, own, texture)
    parts = uses[0] if uses else ()
    geometry = next((part for part in parts if re.fullmatch(r"a?[123]d", part)), "2d")
    modes, fractions = _modes(sources) if texture else ((), False)
    said = (one for one in _said(sources, parameter.declared.name) if element_of(one))
    type_ = next(said, "") or _of_parts(parts)
    if fractions:
        type_ = _SMALL.get(type_, type_)
    line = geometry in ("1d", "a1d")
    sides = [most if geometry == "1d" else _side(_WIDTH, numbers, _SIDE)]
    if geometry != "1d":
        sides.append(1 if line else _side(_HEIGHT, numbers, _SIDE))
    if geometry in ("3d", "a1d", "a2d"):
        sides.append(_side(_DEPTH, numbers, _LAYERS))
    size = ":".join(map(str, sides))
    return Image(name, "texture" if texture else "surface", size, type_, modes=modes)


def _uses(kernel: PtxKernel, own: str, texture: bool) -> list[tuple[str, ...]]:
    """Opcodes that use the image; those of all its kind where that is not plain."""
    plain = [one.parts for one in kernel.image_uses if one.parameter == own]
    return plain or [one.parts for one in kernel.image_uses if (one.parts[0] == "tex") == texture]


def _of_parts(parts: Sequence[str]) -> str:
    """What an element may be, by the instruction that uses it."""
    if not parts or parts[0] == "tex":
        return _OF_RESULT.get(parts[-2] if parts else "", "float")
    bits = next((part for part in parts if part in ("b8", "b16", "b32", "b64")), "b32")
    lanes = next((int(part[1:]) for part in parts if part in ("v2", "v4")), 1)
    return _OF_BITS.get((bits, lanes), "float")


def _said(sources: Sources, name: str) -> Iterator[str]:
    """The elements of calls such as ``tex2D<uchar4>(name, …)``."""
    for file in sources.files:
        for d in file.declarations:
            if name not in d.words:
                continue
            for place, token in enumerate(d.tokens[:-3]):
                if not _CALL.fullmatch(token.text) or d.tokens[place + 1].text != "<":
                    continue
                end = after_angles(d.tokens, place + 1)
                if [t.text for t in d.tokens[end : end + 2]] == ["(", name]:
                    words = " ".join(t.text for t in d.tokens[place + 2 : end - 1])
                    yield _ONE_WORD.get(words, words)


def _modes(sources: Sources) -> tuple[tuple[str, ...], bool]:
    """How textures of the file are read, and whether small numbers are read as fractions."""
    every = [token for file in sources.files for d in file.declarations for token in d.tokens]
    words = [token.text for token in every]
    found = [_WORDS[word] for word in words if word in _WORDS]
    beyond = [mode for mode in found if mode != "linear"][:1]
    modes = (
        *(["linear"] if "linear" in found else []),
        *(["normalized"] if _says_normalized(every) else []),
        *beyond,
    )
    return modes, _FRACTIONS in words


def _says_normalized(tokens: Sequence[Token]) -> bool:
    return any(
        token.text == "normalizedCoords" and [t.text for t in tokens[place + 1 : place + 3]] in (
            ["=", "true"], ["=", "1"],
        )
        for place, token in enumerate(tokens)
    )  # fmt: skip


def _side(names: "re.Pattern[str]", numbers: Mapping[str, int], usual: int) -> int:
    """A side as long as a number of the kernel that is called like it."""
    return next((max(1, n) for name, n in numbers.items() if names.fullmatch(name)), usual)
