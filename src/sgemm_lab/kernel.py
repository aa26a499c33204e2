"""A kernel with a head comment as an object: title, parent, tile constants, launch shape, source.

The head comment of the source has the fields ``title``, ``parent``, ``change`` (the difference from
the parent, one sentence), ``chapter``, ``grid`` and ``block``. Optional fields are ``shared``
(bytes of dynamic shared memory), ``workspace`` (bytes of global memory for the kernel's own use),
``needs`` (the oldest GPU target; ``sm_90a`` means that target only), ``arithmetic`` (one of
``ARITHMETICS``; default ``fp32``) and ``variants`` (other values of constants that the book
measures, such as ``TILE=16``). A parent may be a variant: "tiled:TILE=16".

A line ``map`` describes a tensor map, a parameter after the workspace, in the parameters' order::

    // map: mapA = fp16 workspace + 256, M x K, pitch 16 * ceil(K / 8), box BM x BK, swizzle 128

It names the parameter, the element type (``tensor_map.ELEMENT_BYTES``), the matrix (``A``, ``B``,
``C`` or bytes into the workspace; ``A or workspace + 256`` is a copy where A's rows are not aligned
to 16 bytes or its elements are of another type), rows and columns, the bytes of a row with its
padding, the box of a copy, and the swizzle.

A line ``constexpr int BM = 128;  // rows of C per block`` defines a constant with its default value
and, from the comment, its label; in WGSL it is ``const BM = 128u;``. Launch shapes are arithmetic
over the constants, M, N, K and SMS, the number of SMs of the GPU: for example ``ceil(N / BN)`` or
``min(SMS, ceil(M / BM))``.
"""

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.expression import UnreadableError, compiled
from sgemm_lab.tensor_map import ELEMENT_BYTES, TensorMap
from sgemm_lab.text import filled, templates

Size = tuple[int, int, int]
"""M, N, K of a product: A is M×K, B is K×N, C is M×N."""

ENTRY = "sgemm"
"""Every kernel's entry name. Its signature: (A, B, C, M, N, K), row-major, C = A·B.

A kernel with a workspace has a seventh parameter, the pointer to it. The workspace is zero before
the first launch and is not cleared between launches, so a kernel must reset its counters. Launches
that may overlap need separate workspaces. Of a workspace that grows with K, because it holds copies
of A and B, only the first ``COUNTER_BYTES`` are zero.
"""

COUNTER_BYTES = 256

SMS = 132
"""Default number of SMs for launch shapes: an H200's."""

ARITHMETICS = {"fp32": 24, "tf32": 11, "fp16": 11, "3xtf32": 22, "3xfp16": 22}
"""Arithmetics of kernels, each with its significant bits of A and B.

A float32 has 24. ``3xtf32`` and ``3xfp16`` split each element into two numbers of that format. All
accumulate in FP32.
"""

_HEAD_FIELD = re.compile(
    r"^// (title|parent|change|chapter|grid|block|shared|workspace|map|needs|arithmetic|variants): "
    r"+(.+?) *$",
    re.M,
)
MAP_LINE = re.compile(
    rf"(?P<name>\w+) = (?P<dtype>{'|'.join(ELEMENT_BYTES)}) (?P<matrix>[ABC])?(?: or )?"
    r"(?:workspace \+ (?P<offset>.+?))?, (?P<rows>.+?) x (?P<columns>.+?), "
    r"pitch (?P<pitch_bytes>.+?), box (?P<box_rows>.+?) x (?P<box_columns>.+?), "
    r"swizzle (?P<swizzle>.+)"
)
_MAP_TERMS = ("rows", "columns", "pitch_bytes", "box_rows", "box_columns", "swizzle")
_CONSTANT = re.compile(
    r"^(?P<head>(?:constexpr int|const) (?P<name>\w+) = )(?P<value>\d+)u?;"
    r"(?:[ ]*//[ ]*(?P<label>.*?))?[ ]*$",
    re.M,
)
_REQUIRED = ("title", "parent", "chapter", "grid", "block")
_SENTENCES = templates(Path(__file__).with_suffix(".json"))
"""Error messages of head comments, shared with ``kernel.ts``."""


@dataclass(frozen=True)
class Constant:
    """A tile constant of a kernel."""

    name: str
    value: int
    label: str
    """The comment of its line, or ""."""


@dataclass(frozen=True)
class LaunchShape:
    """Blocks of the grid (x, y), threads of a block (x, y), and bytes of further memory."""

    grid: tuple[int, int]
    block: tuple[int, int]
    shared_bytes: int
    """Dynamic shared memory of one block."""
    workspace_bytes: int = 0
    """Global workspace, zero before the first launch."""
    maps: tuple[TensorMap, ...] = ()
    """The kernel's last parameters."""
    input_bytes: int = 4
    """Bytes of an element of A and B."""

    @property
    def threads(self) -> int:
        """Threads in one block."""
        return self.block[0] * self.block[1]


@dataclass(frozen=True)
class SourceLine:
    """One line of a kernel; ``changed`` if the parent lacks it."""

    number: int
    text: str
    changed: bool


@dataclass(frozen=True)
class Kernel:
    """One kernel, as its source with the head comment describes it."""

    name: str
    """Constants that differ from the defaults follow a colon: "tiled:TILE=16"."""
    title: str
    parent: str | None
    change: str | None
    """The difference from the parent, in a sentence."""
    chapter: int
    constants: tuple[Constant, ...]
    grid: tuple[str, str]
    block: tuple[str, str]
    shared: str
    workspace: str
    maps: tuple[str, ...]
    """Lines of tensor maps."""
    needs: str | None
    arithmetic: str
    """One of ``ARITHMETICS``."""
    variants: tuple[str, ...]
    source: str
    defaults: Mapping[str, int] = field(compare=False, repr=False)
    """The constants' values in the source that was parsed, before ``with_constants``."""

    @property
    def base_name(self) -> str:
        """The name without constants: "tiled" for "tiled:TILE=16"."""
        return self.name.partition(":")[0]

    @property
    def display_name(self) -> str:
        """The name for display, with the tile as a size and other constants spelled out.

        "register_cache:BM=128,BN=128,BK=16,TM=8,TN=8" becomes "register_cache 8 × 8, BK = 16": a
        thread's tile. On tensor cores it is that of a block.
        """
        base, _, constants = self.name.partition(":")
        given = dict(pair.partition("=")[::2] for pair in constants.split(",") if pair)
        sides = {"TM", "TN"}
        is_tile = sides & given.keys() and sides <= self.values.keys()
        rows, columns = "TM", "TN"
        warp: tuple[str, ...] = ()
        if self.arithmetic != "fp32":
            rows, columns, warp = "BM", "BN", ("WM", "WN")
        tile = ("BM", "BN", "TM", "TN", *warp) if is_tile else ()
        size = f" {self.values[rows]} × {self.values[columns]}" if tile else ""
        others = [f", {name} = {value}" for name, value in given.items() if name not in tile]
        return f"{base}{size}{''.join(others)}".replace("INPUT = 16", "FP16 inputs")

    @property
    def display_title(self) -> str:
        """The title, with the constants as in ``display_name``: "Sliding window, BK = 32"."""
        return f"{self.title}{self.display_name.removeprefix(self.base_name)}"

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the code, without its comments and white space."""
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", self.source, flags=re.S)
        return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:16]

    @property
    def values(self) -> dict[str, int]:
        """The constants as a dictionary, name to value."""
        return {constant.name: constant.value for constant in self.constants}

    @property
    def input_bytes(self) -> int:
        """Bytes of an element of A and B: 4, or 2 with the constant INPUT=16."""
        return self.values.get("INPUT", 32) // 8

    @property
    def copies_factors(self) -> bool:
        """Whether the workspace holds copies of A and B, that is, grows with K."""
        return re.search(r"\bK\b", self.workspace) is not None

    def launch_shape(self, m: int, n: int, k: int, *, sms: int = SMS) -> LaunchShape:
        """Return the launch shape for C of m×n and inner dimension k, on a GPU of ``sms`` SMs.

        Raises:
            LabError: a dimension is below 1, or the head comment gives no valid shape.
        """
        for name, size in (("M", m), ("N", n), ("K", k)):
            if size < 1:
                raise LabError(_sentence("size", name=name, size=size))
        grid_x, grid_y, block_x, block_y, shared, workspace = (
            term(m, n, k, sms) for term in self._launch_terms
        )
        maps = tuple(make(m, n, k, sms) for make in self._map_makers)
        grid, block = (grid_x, grid_y), (block_x, block_y)
        return LaunchShape(grid, block, shared, workspace, maps, self.input_bytes)

    @cached_property
    def _launch_terms(self) -> tuple[Callable[..., int], ...]:
        """The terms of a launch shape as functions of M, N, K and the number of SMs."""
        sides = (_launch_term(text, self) for text in (*self.grid, *self.block))
        memory = (_launch_term(text, self, least=0) for text in (self.shared, self.workspace))
        return (*sides, *memory)

    @cached_property
    def _map_makers(self) -> tuple[Callable[..., TensorMap], ...]:
        """The tensor maps as functions of M, N, K and the number of SMs."""
        return tuple(_map_maker(text, self) for text in self.maps)

    def with_constants(self, **values: int) -> "Kernel":
        """Return the kernel with other values of tile constants in its source.

        Raises:
            LabError: the kernel has no such constant, or a value is below 1.
        """
        known = self.values
        for name, value in values.items():
            if name not in known:
                names = ", ".join(known) or _sentence("constant.none")
                raise LabError(
                    _sentence("constant.unknown", kernel=self.name, name=name, known=names)
                )
            if value < 1:
                raise LabError(_sentence("constant.below", name=name, value=value))

        def write(match: re.Match[str]) -> str:
            rest = match[0].removeprefix(match["head"] + match["value"])
            return f"{match['head']}{values.get(match['name'], int(match['value']))}{rest}"

        source = _CONSTANT.sub(write, self.source)
        base = self.base_name
        constants = _constants(source)
        other = [f"{c.name}={c.value}" for c in constants if c.value != self.defaults[c.name]]
        name = f"{base}:{','.join(other)}" if other else base
        return replace(self, name=name, source=source, constants=constants)

    def lines_against(self, parent: "Kernel | None") -> list[SourceLine]:
        """Return the source line by line, each marked if ``parent`` lacks it."""
        changed = changed_lines(parent.source, self.source) if parent else set()
        lines = enumerate(self.source.splitlines(), 1)
        return [SourceLine(i, text, i in changed) for i, text in lines]


def body_start(source: str) -> int:
    """Return the number of lines of the head comment."""
    lines = source.splitlines()
    return next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))


def changed_lines(parent: str, child: str) -> set[int]:
    """Return the 1-based numbers of the child's lines that the parent does not have.

    Indentation, runs of spaces, head comments and blank lines are ignored.
    """
    parent_lines = [" ".join(line.split()) for line in parent.splitlines()[body_start(parent) :]]
    skipped = body_start(child)
    child_lines = [" ".join(line.split()) for line in child.splitlines()[skipped:]]
    matcher = difflib.SequenceMatcher(a=parent_lines, b=child_lines, autojunk=False)
    changed: set[int] = set()
    for operation, _, _, start, end in matcher.get_opcodes():
        if operation != "equal":
            changed.update(skipped + i + 1 for i in range(start, end) if child_lines[i])
    return changed


def parse_kernel(name: str, source: str) -> Kernel:
    """Read a kernel from its source text.

    Raises:
        LabError: the head comment lacks a field, or a field cannot be read.
    """
    head = "\n".join(source.splitlines()[: body_start(source)])
    lines = [(match[1], match[2]) for match in _HEAD_FIELD.finditer(head)]
    fields = dict(lines)
    missing = [field for field in _REQUIRED if field not in fields]
    if missing:
        lacks = ", ".join(missing)
        raise LabError(_sentence("head.missing", kernel=name, missing=lacks, first=missing[0]))
    if not fields["chapter"].isdecimal():
        raise LabError(_sentence("head.chapter", kernel=name, text=fields["chapter"]))
    arithmetic = fields.get("arithmetic", "fp32")
    if arithmetic not in ARITHMETICS:
        known = ", ".join(ARITHMETICS)
        raise LabError(_sentence("head.arithmetic", kernel=name, text=arithmetic, known=known))
    constants = _constants(source)
    return Kernel(
        name=name,
        title=fields["title"],
        parent=None if fields["parent"] == "none" else fields["parent"],
        change=fields.get("change"),
        chapter=int(fields["chapter"]),
        constants=constants,
        grid=_pair(fields["grid"], "grid", name),
        block=_pair(fields["block"], "block", name),
        shared=fields.get("shared", "0"),
        workspace=fields.get("workspace", "0"),
        maps=tuple(text for field, text in lines if field == "map"),
        needs=fields.get("needs"),
        arithmetic=arithmetic,
        variants=tuple(fields.get("variants", "").split()),
        source=source,
        defaults={constant.name: constant.value for constant in constants},
    )


def has_head_comment(source: str) -> bool:
    """Whether a source has at least one field of a head comment."""
    head = "\n".join(source.splitlines()[: body_start(source)])
    return _HEAD_FIELD.search(head) is not None


def _constants(source: str) -> tuple[Constant, ...]:
    return tuple(
        Constant(m["name"], int(m["value"]), m["label"] or "") for m in _CONSTANT.finditer(source)
    )


def _pair(text: str, field: str, name: str) -> tuple[str, str]:
    parts = terms(text)
    if len(parts) != 2:
        raise LabError(_sentence("head.pair", kernel=name, field=field, text=text))
    return parts[0], parts[1]


def terms(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    terms, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            terms.append("")
        else:
            terms[-1] += letter
    return [term.strip() for term in terms]


def _launch_term(text: str, kernel: Kernel, *, least: int = 1) -> Callable[..., int]:
    """Return a term of a launch shape as a function of M, N, K and the number of SMs.

    It raises a LabError if the text is invalid or its value is no whole number of at least
    ``least``.
    """
    evaluated: Callable[..., int] | None = None

    def term(*sizes: int) -> int:
        nonlocal evaluated
        try:
            evaluated = evaluated or compiled(text, kernel.values, ("M", "N", "K", "SMS"))
            found = evaluated(*sizes)
        except UnreadableError as fault:
            raise LabError(
                _sentence("head.term", kernel=kernel.name, text=text, fault=fault)
            ) from None
        if found < least:
            raise LabError(
                _sentence("head.least", kernel=kernel.name, text=text, found=found, least=least)
            )
        return found

    return term


def _map_maker(text: str, kernel: Kernel) -> Callable[..., TensorMap]:
    """Return a tensor map as a function of M, N, K and the number of SMs."""
    match = MAP_LINE.fullmatch(text)
    if match is None or not (match["matrix"] or match["offset"]):
        raise LabError(_sentence("head.map", kernel=kernel.name, text=text))
    start = _launch_term(match["offset"], kernel, least=0) if match["offset"] else None
    made = [_launch_term(match[name], kernel, least=0) for name in _MAP_TERMS]

    def make(*sizes: int) -> TensorMap:
        where = match["name"], match["dtype"], match["matrix"], start(*sizes) if start else None
        found = TensorMap(*where, *(term(*sizes) for term in made))
        if found.fault is not None:
            raise LabError(_sentence(f"map.{found.fault}", kernel=kernel.name, name=found.name))
        return found

    return make


def _sentence(key: str, **values: object) -> str:
    return filled(_SENTENCES[key], values)
