"""Reading textures, and reading and writing surfaces."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.group import LOAD, STORE, SURFACE, Site
from sgemm_lab.simulator.images import Image
from sgemm_lab.simulator.memory import GLOBAL_BASE
from sgemm_lab.simulator.memory_operations import begin, mark_written
from sgemm_lab.simulator.operands import items_of
from sgemm_lab.simulator.operations import Match, Operations, Step
from sgemm_lab.simulator.ptx import Instruction, Operand, Register, Vector
from sgemm_lab.simulator.registers import Array, Mask, numpy_type, source
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


_AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def _named(operand: Operand) -> tuple[Register, list[Operand]]:
    """The handle and the places of ``[%rd1, {%f1, %f2}]``."""
    if not isinstance(operand, Vector) or not isinstance(operand.items[0], Register):
        raise PtxError(sentence("run.operand", name="texture"))
    places = operand.items[1]
    return operand.items[0], list(items_of(places))


def _images(
    group: "ThreadGroup", instruction: Instruction, handle: Register, mask: Mask | None
) -> Iterator[tuple[Image, Array]]:
    """The images that the running lanes name, each with its lanes."""
    handles = group.registers.view(handle, np.dtype(np.int64))
    running = np.arange(group.lanes) if mask is None else np.flatnonzero(mask)
    for number in np.unique(handles[running]):
        image = group.launch.images.get(int(number))
        if image is None:
            raise LabError(sentence("run.image", place=instruction.location))
        yield image, running[handles[running] == number]


def _read_texture(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``tex``: four numbers, of which an image with fewer leaves the rest zero."""
    result = numpy_type(match["type"])
    whole = numpy_type("s32")
    targets_of = instruction.operands[0]
    assert isinstance(targets_of, Vector)
    targets = [
        group.registers.view(item, result)
        for item in targets_of.items
        if isinstance(item, Register)
    ]
    handle, operands = _named(instruction.operands[1])
    layered = match["geometry"].startswith("a")
    count = _AXES[match["geometry"]]
    layer = source(group.registers, group.symbols, operands[0], whole) if layered else None
    places = [
        source(group.registers, group.symbols, one, numpy_type(match["place"]))
        for one in operands[layered : layered + count]
    ]

    def step(mask: Mask | None) -> None:
        for image, lanes in _images(group, instruction, handle, mask):
            read = image.at(
                group.launch.global_memory,
                [_of(group, place, lanes) for place in places],
                None if layer is None else _of(group, layer, lanes),
                result,
            )
            for number, target in enumerate(targets):
                target[lanes] = read[:, number] if number < read.shape[1] else result.type(0)

    return step


def _of(group: "ThreadGroup", values: Any, lanes: Array) -> Array:
    return np.asarray(np.broadcast_to(values, (group.lanes,))[lanes])


def _use_surface(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    """``suld`` and ``sust``: the bytes of an element; x counts in bytes."""
    stores = match["name"] == "sust"
    named, moved = instruction.operands if stores else reversed(instruction.operands)
    handle, operands = _named(named)
    items = items_of(moved)
    width = _BYTES[match["type"]]
    # Narrow numbers fill the whole of their registers.
    rows = [
        group.registers.view(item, np.dtype(f"u{width}"))
        if stores
        else group.registers.whole(item, signed=False)
        for item in items
        if isinstance(item, Register)
    ]
    assert len(rows) == len(items)
    layered = match["geometry"].startswith("a")
    places = [
        source(group.registers, group.symbols, one, numpy_type("s32"))
        for one in operands[: _AXES[match["geometry"]] + layered]
    ]
    site = Site(instruction, SURFACE, STORE if stores else LOAD, width, len(items), False)

    def step(mask: Mask | None) -> None:
        for image, lanes in _images(group, instruction, handle, mask):
            at = [_of(group, place, lanes).astype("i8") for place in places]
            if layered:
                at = [*at[1:], *[np.zeros(len(lanes), "i8")] * (3 - len(at)), at[0]]
            inside, offset = _offsets(image, at, site.width, match["beyond"] == "clamp")
            if not inside.all() and match["beyond"] == "trap":
                wrong = int(np.argmin(inside))
                place = tuple(int(one[wrong]) for one in at)
                group.launch.hazards.out_of_image(group, site, image, int(lanes[wrong]), place)
            if not stores:
                for row in rows:
                    row[lanes] = row.dtype.type(0)
            chosen = lanes[inside]
            if not len(chosen):
                continue
            where = np.zeros(group.lanes, bool)
            where[chosen] = True
            addresses = np.zeros(group.lanes, np.int64)
            addresses[chosen] = GLOBAL_BASE + image.array.start + offset[inside]
            access = begin(group, site, addresses, where)
            assert access.lanes is not None
            words = access.memory.words(width)
            first = access.positions // width
            values = []
            for item, row in enumerate(rows):
                if stores:
                    words[first + item] = row[access.lanes]
                    values.append(row[access.lanes])
                else:
                    values.append(words[first + item])
                    row[access.lanes] = values[-1]
            if stores:
                mark_written(access.memory, access.positions, site.width)
            for observer in group.launch.observers:
                observer.on_values(access, values)

    return step


def _offsets(image: Image, places: list[Array], width: int, clamps: bool) -> tuple[Mask, Array]:
    """Which places lie in an image, and how many bytes after its start."""
    sides = image.sides
    row = sides[0] * image.element_bytes
    inside: Mask = np.ones(len(places[0]), bool)
    offset = np.zeros(len(places[0]), "i8")
    for place, last, stride in zip(
        places, (row - width, sides[1] - 1, sides[2] - 1), (1, row, row * sides[1]), strict=False
    ):
        bounded = np.clip(place, 0, max(0, last))
        inside &= clamps | (bounded == place)
        offset += bounded * stride
    return inside, offset


OPERATIONS: Operations = [
    (
        r"tex\.(?P<geometry>a?[12]d|3d)\.v4\.(?P<type>f32|s32|u32)\.(?P<place>f32|s32)",
        _read_texture,
    ),
    (
        r"(?P<name>suld|sust)\.b\.(?P<geometry>a?[12]d|3d)(?:\.v[24])?\.(?P<type>b8|b16|b32|b64)"
        r"\.(?P<beyond>trap|clamp|zero)",
        _use_surface,
    ),
]

_OTHER = (
    (r"tex\.(?:level|grad)\b.*", "texture.levels"),
    (r"tex\.a?cube\b.*", "texture.cube"),
    (r"tld4\b.*", "texture.gather"),
)


def unsupported_operation(opcode: str) -> str:
    """Name what a GPU alone does with a texture or surface."""
    found = next((key for pattern, key in _OTHER if re.fullmatch(pattern, opcode)), "texture.other")
    return sentence(found)
