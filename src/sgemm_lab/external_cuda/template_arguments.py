"""Template arguments that the caller does not give: from the file's own launch, or defaults."""

import math
import re
from collections.abc import Collection, Mapping, Sequence

from sgemm_lab.external_cuda.declarations import Declaration
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.elements import element_of
from sgemm_lab.external_cuda.host_launch import HostLaunch, UnknownError
from sgemm_lab.external_cuda.host_values import HostValues
from sgemm_lab.external_cuda.kernels import (
    FoundKernel,
    FoundLaunch,
    KernelParameter,
    launches_of_kernel,
    template_of,
)
from sgemm_lab.external_cuda.tokens import Token

_USUAL = (
    (r"warp_?size|wsize|ws", 32),
    (r"b_?k|.*(?:block|tile|chunk)(?:_?size)?_?k|k_?(?:tile|block).*", 8),
    (r"t_?[mn]|.*thread_?tile.*|.*per_?thread.*|.*items.*|vec.*|unroll.*", 4),
    (r"b_?[mn]|w_?[mn]|.*(?:block|tile)(?:_?size)?_?[mn]", 64),
    (r".*stages?|.*padd?(?:ing)?|.*iters?", 2),
    (r".*head_?dim.*|d|dim|hidden.*", 64),
    (r".*rows?.*", 8),
)
"""Names of template parameters, and what they are as a rule."""

_THREAD_TILE = re.compile(r"t_?[mn]")
_BLOCK_TILE = re.compile(r"b_?[mn]")
_WARP_TILE = re.compile(r"w_?[mn]")
_OF_THREAD, _OF_BLOCK = "8", "128"
"""Sums of a thread, and elements of a block, along one side, where names tell of both and not of
warps: then as many threads copy a tile as add its products, which most such kernels ask for. A
thread tile with one side goes with blocks of 64."""

_THREADS = re.compile(r".*(?:threads|block_?(?:size|dim)|group_?size|tpb|nthr).*")
_FLAT, _SQUARE = 256, 16
"""Threads of a block along x, without and with others along y."""


def usual_values(
    kernel: FoundKernel,
    launches: Sequence[FoundLaunch],
    sources: Sources,
    defines: Mapping[str, str],
) -> tuple[str, str]:
    """Return the values of a template, such as "float, 16", and a sentence that says whose."""
    told = [
        (values, fits, launch.line)
        for launch in launches_of_kernel(kernel, launches)
        for values, fits in _of_launch(kernel, launch, sources, defines)
    ]
    if told:
        # Of several, one whose block has a side that is a value: "if (n == 16) k<16><<<…".
        values, _, line = next((one for one in told if one[1]), told[0])
        return _noted(kernel, values, f"told by line {line}")
    words = {token.text for token in kernel.declaration.tokens}
    square = "y" in words and "threadIdx" in words
    values = _fitting_tiles(
        kernel.template, [_usual(p, square) for p in kernel.template[: kernel.required]]
    )
    return _noted(kernel, values, "assumed")


def _fitting_tiles(template: Sequence[KernelParameter], values: list[str]) -> list[str]:
    """Put tiles that go together in the place of what is usual for each alone."""
    names = [p.name.lower().strip("_") for p in template]
    sides = sum(bool(_THREAD_TILE.fullmatch(name)) for name in names)
    if not sides or any(_WARP_TILE.fullmatch(name) for name in names):
        return values
    found = []
    for name, value in zip(names, values, strict=False):
        of_block = sides > 1 and _BLOCK_TILE.fullmatch(name)
        of_thread = _OF_THREAD if _THREAD_TILE.fullmatch(name) else value
        found.append(_OF_BLOCK if of_block else of_thread)
    return found


def _noted(kernel: FoundKernel, values: Sequence[str], said: str) -> tuple[str, str]:
    text = ", ".join(values)
    return text, (
        f"Values of the template, {said}: --entry '{kernel.name}<{text}>'. Say them where they are "
        "others."
    )


def _of_launch(
    kernel: FoundKernel, launch: FoundLaunch, sources: Sources, defines: Mapping[str, str]
) -> list[tuple[list[str], bool]]:
    """The values that a launch gives, none where one cannot be worked out.

    With them, whether its block has a side that is one of them.
    """
    if not launch.template_tokens and not all(
        p.type == "typename" for p in kernel.template[: kernel.required]
    ):
        return []
    # If the launching function is never called, its template has the default arguments.
    template = {} if launch.function is None else usual_of_template(launch.function)
    reader = HostValues(HostLaunch(launch, sources, defines, template), lambda _: None, {})
    values = []
    for number, parameter in enumerate(kernel.template):
        if number >= len(launch.template_tokens):
            if number < kernel.required:
                values.append("float")  # told by the arguments, whose types are not followed
            continue
        own = () if launch.function is None else template_of(launch.function.head)
        types = {p.name for p in own if p.type == "typename"}
        value = _value(parameter, launch.template_tokens[number], reader, sources, types)
        if value is None:
            return []
        values.append(value)
    try:
        sides = reader.sizes(launch.shape_tokens[1])
    except (UnknownError, IndexError):
        sides = ()
    return [(values, any(str(side) in values for side in (*sides, math.prod(sides))))]


def usual_of_template(function: Declaration) -> dict[str, str]:
    """Return default arguments of a host template that is never instantiated, by name."""
    return {
        p.name: {"false": "0"}.get(_usual(p, False), _usual(p, False))
        for p in template_of(function.head)
        if p.type != "typename"
    }


def _value(
    parameter: KernelParameter,
    tokens: Sequence[Token],
    reader: HostValues,
    sources: Sources,
    types: Collection[str],
) -> str | None:
    """Return one value. ``types`` are those of the launching function's own template."""
    text = " ".join(token.text for token in tokens)
    if parameter.type == "typename":
        if text in types:
            return "float"
        known = any(text in d.names for f in sources.files for d in f.declarations)
        return text if known or element_of(text) is not None or len(tokens) > 1 else "float"
    if text in ("true", "false"):
        return text
    found = reader.number(tokens)
    if found is None:
        return None
    return str(int(found)) if parameter.type != "bool" else str(bool(found)).lower()


def _usual(parameter: KernelParameter, square: bool) -> str:
    if parameter.type == "typename":
        return "float"
    if parameter.type == "bool":
        return "false"
    name = parameter.name.lower().strip("_")
    for pattern, value in _USUAL:
        if re.fullmatch(pattern, name):
            return str(value)
    return str(_FLAT if _THREADS.fullmatch(name) and not square else _SQUARE)
