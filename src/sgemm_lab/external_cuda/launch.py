"""Prepare and simulate one launch of an external kernel."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sgemm_lab.counting.launch_limits import (
    BASIC_BLOCKS_PER_PRODUCT,
    MAX_BASIC_BLOCKS,
    TIME_LIMIT,
    Schedule,
    max_basic_blocks,
)
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.arguments import (
    LARGEST_ARRAY,
    SIDES,
    Array,
    Given,
    Image,
    Matrix,
    Number,
    called,
    named_numbers,
    read_arguments,
    value_of,
    whole,
)
from sgemm_lab.external_cuda.compile_file import FoundLaunch, Opened, open_file
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.elements import FLOAT, Element, named_element
from sgemm_lab.external_cuda.expected import load_array
from sgemm_lab.external_cuda.index_arrays import Role, values_for
from sgemm_lab.external_cuda.module_variables import Variable, is_filled, variables_of
from sgemm_lab.external_cuda.parameters import Parameter, Signature, signature_of
from sgemm_lab.hardware import STATIC_SHARED
from sgemm_lab.kernel import Size
from sgemm_lab.simulator import Result, simulate
from sgemm_lab.simulator.arguments import Struct
from sgemm_lab.simulator.limits import MAX_THREADS, MOST_BLOCKS_X, MOST_BLOCKS_YZ, SHARED_LIMITS
from sgemm_lab.text import size_text

Values = npt.NDArray[Any]

MOST_THREADS = 2**24
"""Threads of a launch that take minutes here, however little each does."""

_SHARED_STEP = 1024
"""No array of shared memory is aligned more coarsely than to as many bytes."""

SPREAD = 8
"""The numbers of an array lie between this and its negative."""


@dataclass(frozen=True)
class ExternalKernel:
    """A kernel in any CUDA file, and how to launch it. Shapes are arithmetic over M, N and K."""

    pasted: Pasted
    grid: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    shared_bytes: str = "0"
    arguments: str | None = None
    """The text of ``--args``; None to infer the arguments from names and types."""


@dataclass(frozen=True)
class Prepared:
    """A compiled kernel with its arguments."""

    kernel: ExternalKernel
    opened: Opened
    signature: Signature
    given: tuple[Given, ...]
    """The argument of each parameter."""
    arguments_given: bool
    """Whether the caller gave the arguments."""
    host: int | None = None
    """Which of the file's own launches is used for what the caller does not give."""
    assumed: str = ""
    """What was assumed of the launch, in a sentence."""
    argued: str = ""
    """Where assumed arguments come from, in sentences; "" if they are given or inferred."""
    certain: bool = True
    """Whether caller and file give the whole launch, so that nothing of it was assumed."""
    numbers_told: bool = False
    """Whether the file gives grid, block and every number, and no array can hold indices."""
    contents_assumed: bool = False
    """Whether it would be certain if one knew what arrays of integers hold."""
    clipped: bool = False
    """Whether only a few blocks of the file's own grid run."""
    filled_to: Mapping[str, int] = field(default_factory=dict)
    """Arrays that hold nothing from a byte on, as the file's ``cudaMemset`` ends there."""
    variables: tuple[Variable, ...] = ()
    """The ``__constant__`` and ``__device__`` variables of numbers that it uses."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters that take one argument each; structs are replaced by their fields."""
        return self.signature.parameters

    @property
    def host_launch(self) -> FoundLaunch | None:
        """The file's own launch that is used."""
        return None if self.host is None else self.opened.launches[self.host]

    @property
    def multiplies(self) -> bool:
        """Whether it is given the matrices of a product."""
        return any(isinstance(one, Matrix) for one in self.given)

    @property
    def sizes(self) -> int:
        """How many of M, N and K its arguments name."""
        numbers = [one.text for one in self.given if isinstance(one, Number)]
        return sum(any(name in text for text in numbers) for name in "MNK")

    @property
    def depends_on_size(self) -> bool:
        """Whether grid, block or arguments name M, N or K."""
        texts = (*self.kernel.grid, *self.kernel.block, *map(str, self.given))
        return self.multiplies or any(name in text for text in texts for name in "MNK")

    def element(self, given: Given) -> Element:
        """Return what an array holds."""
        if isinstance(given, Array) and given.type:
            return named_element(given.type)
        for variable in self.variables:
            if variable.array is given:
                return variable.element
        place = self.given.index(given)
        found = self.parameters[place].element if place < len(self.parameters) else None
        return found or FLOAT

    @property
    def factors(self) -> tuple[float, float]:
        """Alpha and beta of C = alpha·A·B + beta·C: 1 and 0 where the kernel has none."""
        found = {"alpha": 1.0, "beta": 0.0}
        names = list(found)
        for given, parameter in zip(self.given, self.parameters, strict=True):
            if isinstance(given, Number) and not parameter.is_whole and names:
                said = parameter.name.lower()
                name = next((n for n in names if n in said), names[0])
                names.remove(name)
                found[name] = float(value_of(given, {}))
        return found["alpha"], found["beta"]

    @property
    def has_beta(self) -> bool:
        """Whether the kernel takes a factor of what C holds."""
        scalars = [
            given
            for given, p in zip(self.given, self.parameters, strict=True)
            if isinstance(given, Number) and not p.is_whole
        ]
        return len(scalars) > 1


@dataclass
class Settings:
    """How a launch is simulated."""

    target: str = DEFAULT_TARGET
    check_hazards: bool = True
    count_requests: bool = True
    schedule: Schedule = "lockstep"
    order: int | None = None
    """The seed of the order in which blocks and warps run; None for ascending numbers."""
    time_limit: float = TIME_LIMIT
    corners: bool = False
    """Whether only the blocks at the corners of the grid run."""
    watch: Collection[str] = ()
    """What else to watch for."""
    explain: Literal["always", "without hazards", "never"] = "always"
    """When usual causes of a wrong C are tried."""
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)


def prepare(kernel: ExternalKernel, target: str = DEFAULT_TARGET) -> Prepared:
    """Compile a kernel and determine its arguments.

    Raises:
        CompileError: it does not compile.
        LabError: no kernel can be chosen, or its arguments are not known.
    """
    opened = open_file(kernel.pasted, target)
    signature = signature_of(opened)
    parameters = signature.parameters
    given = None if kernel.arguments is None else read_arguments(kernel.arguments)
    if given is None:
        given = () if not parameters else signature.product
    if given is None:
        suggestion = " ".join(parameter.suggested for parameter in parameters)
        variables = variables_of(opened.compiled.variables, signature.variables, (), {})
        raise UnknownArgumentsError(
            f"What '{opened.name}' takes is not known: ({_listed(parameters)}). Say it with "
            f"--args, such as --args '{suggestion}'.",
            Prepared(kernel, opened, signature, (), False, variables=variables),
        )
    given, more = given[: len(parameters)], given[len(parameters) :]
    if len(given) != len(parameters):
        raise LabError(
            f"'{opened.name}' takes {len(parameters)} arguments ({_listed(parameters)}), "
            f"but --args names {len(given)}."
        )
    for one, parameter in zip(given, parameters, strict=True):
        _refuse_mismatch(opened.name, one, parameter)
    names = named_numbers(given, {})
    variables = variables_of(opened.compiled.variables, signature.variables, more, names)
    arguments_given = kernel.arguments is not None
    prepared = Prepared(kernel, opened, signature, given, arguments_given, variables=variables)
    return prepared if kernel.grid and kernel.block else _with_host_launch(prepared)


def _with_host_launch(prepared: Prepared) -> Prepared:
    """Complete the launch from the file's host code.

    Raises:
        LabError: it cannot be evaluated, or is for a single size.
    """
    small, large = ((side, 2 * side, 4 * side) for side in (64, 1536))
    opened = prepared.opened
    both = [_host_shapes(prepared, size) for size in (small, large)]
    for number, (shape, other) in enumerate(zip(*both, strict=True)):
        if not (shape.is_known and other.is_known):
            continue
        if prepared.multiplies and shape == other:
            continue
        if prepared.multiplies or math.prod((*shape.grid, *shape.block)) <= MOST_THREADS:
            return replace(prepared, host=number)
    if prepared.multiplies:
        raise NoLaunchError(_no_shape(opened), prepared)
    if not prepared.arguments_given:
        raise UnknownArgumentsError(_no_shape(opened), prepared)
    return _assumed(prepared)


class UnknownLaunchError(LabError):
    """Part of a launch is unknown; ``prepared`` is the rest."""

    def __init__(self, message: str, prepared: Prepared) -> None:
        super().__init__(message)
        self.prepared = prepared


class NoLaunchError(UnknownLaunchError):
    """The launch of a matrix product is unknown."""


class UnknownArgumentsError(UnknownLaunchError):
    """The arguments of a kernel are unknown."""


def _assumed(prepared: Prepared) -> Prepared:
    """Launch a thread for each element of the longest array.

    The block is the file's own, where that can be worked out, or what ``__launch_bounds__`` says,
    or 256 threads; 16 × 16 where the kernel asks for ``threadIdx.y``.
    """
    names = named_numbers(prepared.given, {})
    sizes = [g.elements(names) if not g.size.endswith(".npy") else 1
             for g in prepared.given if isinstance(g, Array)]  # fmt: skip
    shape = prepared.opened.ask(
        "assumed_shape",
        numbers=_host_numbers(prepared, (1, 1, 1)),
        elements=max(sizes, default=1),
    )
    kernel = replace(
        prepared.kernel,
        grid=prepared.kernel.grid or tuple(map(str, shape["grid"])),
        block=prepared.kernel.block or tuple(map(str, shape["block"])),
    )
    note = (
        f"Launch, assumed: a grid of {' × '.join(kernel.grid)} blocks of "
        f"{' × '.join(kernel.block)} threads. Say --grid and --block where it is another."
    )
    return replace(prepared, kernel=kernel, assumed=note, certain=False)


def block_is_free(prepared: Prepared) -> bool:
    """Return whether the block size is unknown."""
    kernel = prepared.kernel
    return not (kernel.block or prepared.opened.compiled.most_threads or host_blocks(prepared))


def host_blocks(prepared: Prepared) -> list[tuple[int, ...]]:
    """Return the blocks of the file's own launches that can be worked out without a size."""
    blocks = [shape.block for shape in _host_shapes(prepared, (1, 1, 1))]
    found = [block for block in blocks if block and 1 <= math.prod(block) <= MAX_THREADS]
    return list(dict.fromkeys(found))


class _HostShape(NamedTuple):
    """What a launch of the file says at a size: empty, or None, where that is not known."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int | None

    @property
    def is_known(self) -> bool:
        return bool(self.grid and self.block)


def _host_shapes(prepared: Prepared, size: Size) -> list[_HostShape]:
    """Work out the file's own launches of a kernel."""
    if not prepared.opened.launches:
        return []
    found = prepared.opened.ask("host_shapes", numbers=_host_numbers(prepared, size))
    return [
        _HostShape(tuple(one["grid"]), tuple(one["block"]), one["sharedBytes"]) for one in found
    ]


def _host_numbers(
    prepared: Prepared, size: Size
) -> list[int | float | Mapping[str, int | float] | None]:
    """Return the numbers that a kernel is given, as ``HostLaunch`` takes them."""
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))
    numbers: list[int | float | Mapping[str, int | float] | None] = []
    place = 0
    for slot in prepared.signature.slots:
        values = {
            part.name.rpartition(".")[2]: value_of(given, names)
            for part, given in zip(slot.parts, prepared.given[place:], strict=False)
            if isinstance(given, Number)
        }
        single = next(iter(values.values()), None)
        numbers.append(values if slot.struct_bytes else single)
        place += len(slot.parts)
    return numbers


def _no_shape(opened: Opened) -> str:
    text = (
        f"How '{opened.name}' is launched is not known: it needs --grid and --block, its blocks "
        "and the threads of a block, such as --grid 'ceil(N/32),ceil(M/32)' --block 32,32."
    )
    if opened.launches:
        first = opened.launches[0]
        text += f" Line {first.line} launches it so: {first.text}."
    return text


def _listed(parameters: Sequence[Parameter]) -> str:
    return ", ".join(map(str, parameters))


def _refuse_mismatch(name: str, given: Given, parameter: Parameter) -> None:
    found = given.use if isinstance(given, Image) else ""
    if found != parameter.image:
        takes = f"a {parameter.image}" if parameter.image else "no texture or surface"
        raise LabError(
            f"'{name}' takes {takes} as '{parameter}', but --args gives {given}. "
            f"Write it like {parameter.suggested}."
        )
    is_array = not isinstance(given, Number)
    if is_array != parameter.pointer and parameter.element is not None:
        takes = "an array" if parameter.pointer else "a number"
        raise LabError(f"'{name}' takes {takes} as '{parameter}', but --args gives {given}.")


@dataclass(frozen=True)
class Shape:
    """Blocks of the grid and threads of a block along x, y and z; bytes of shared memory."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    shared_assumed: bool = False
    """Whether the bytes are unknown and set to the most that a block can have."""


def shape_at(prepared: Prepared, size: Size) -> Shape:
    """Work out the launch at a size.

    Raises:
        LabError: it cannot be worked out, or no GPU takes it, or it never ends here.
    """
    shape = raw_shape(prepared, size)
    _refuse_endless(shape)
    return shape


def raw_shape(prepared: Prepared, size: Size) -> Shape:
    """Work out the launch at a size, whether or not a GPU takes it.

    Raises:
        LabError: it cannot be worked out.
    """
    kernel = prepared.kernel
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))

    def sizes(texts: Sequence[str], what: str) -> tuple[int, ...]:
        found = tuple(whole(text, names, what) for text in texts)
        if min(found) < 1:
            raise LabError(f"The {what} {found} has a size below 1.")
        return found

    shared = whole(kernel.shared_bytes, names, "shared memory")
    shared_given: tuple[int, ...] = (shared,) if shared else ()
    if prepared.host is None:
        grid, block = sizes(kernel.grid, "grid"), sizes(kernel.block, "block")
    else:
        host = _host_shapes(prepared, size)[prepared.host]
        if not host.is_known:
            raise LabError(_no_shape(prepared.opened))
        grid = sizes(kernel.grid, "grid") if kernel.grid else host.grid
        block = sizes(kernel.block, "block") if kernel.block else host.block
        if not shared and host.shared_bytes is not None:
            shared_given = (host.shared_bytes,)
    if shared_given or all(prepared.opened.compiled.shared):
        shape = Shape(grid, block, sum(shared_given))
    else:
        shape = Shape(grid, block, _most_shared(prepared), shared_assumed=True)
    if prepared.host is not None and min(*shape.grid, *shape.block) < 1:
        raise LabError(f"The file's own launch has no blocks at {size_text(size)}.")
    return shape


def _most_shared(prepared: Prepared) -> int:
    """Return the dynamic shared memory left after a block's static arrays, in bytes."""
    kernel = prepared.opened.compiled
    own = sum(-(-size // _SHARED_STEP) * _SHARED_STEP for size in kernel.shared)
    return max(0, SHARED_LIMITS.get(kernel.target, STATIC_SHARED) - own - _SHARED_STEP)


def _refuse_endless(shape: Shape) -> None:
    """Refuse a launch that exceeds a GPU's limits or is too large to simulate."""
    x, y, z = (*shape.grid, 1, 1)[:3]
    if x > MOST_BLOCKS_X or max(y, z) > MOST_BLOCKS_YZ:
        raise LabError(
            f"No GPU takes a grid of {' × '.join(f'{n:,}' for n in shape.grid)} blocks: at most "
            f"{MOST_BLOCKS_X:,} along x and {MOST_BLOCKS_YZ:,} along y."
        )
    blocks, threads = int(np.prod(shape.grid)), int(np.prod(shape.block))
    if blocks * threads > MOST_THREADS:
        raise LabError(
            f"{blocks:,} blocks of {threads:,} threads are too many to run on a processor: "
            f"it takes minutes from {MOST_THREADS:,} threads on. Choose a smaller size and grid."
        )


@dataclass(frozen=True)
class Arrays:
    """What a launch starts from: the numbers of each array, and which hold nothing yet."""

    values: Mapping[str, Values]
    unwritten: tuple[str, ...]


def run(
    prepared: Prepared, size: Size, arrays: Arrays, settings: Settings
) -> tuple[dict[str, Values], Result]:
    """Simulate one launch; return each array after it and the simulator's result.

    Matrices are M×K, K×N and M×N in either memory order.

    Raises:
        LabError: the launch fits neither the kernel nor any GPU.
    """
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))
    arguments: dict[str, Any] = {}
    place = 0
    for number, (slot, compiled) in enumerate(
        zip(prepared.signature.slots, prepared.opened.compiled.parameters, strict=True), 1
    ):
        values = [
            _argument(prepared, place + part, compiled.type, arrays, names)
            for part in range(len(slot.parts))
        ]
        first = prepared.given[place] if slot.parts else None
        place += len(slot.parts)
        if slot.struct_bytes:
            fields = [
                (part.offset, name, value)
                for part, (name, value) in zip(slot.parts, values, strict=True)
            ]
            arguments[f"argument {number}"] = Struct(slot.struct_bytes, tuple(fields))
        else:
            is_number = isinstance(first, Number)
            arguments[f"argument {number}" if is_number else values[0][0]] = values[0][1]
    shape = shape_at(prepared, size)
    elements = sum(values.size for values in arrays.values.values())
    result = simulate(
        prepared.opened.ptx,
        prepared.opened.compiled.name,
        shape.grid,
        shape.block,
        arguments,
        shape.shared_bytes,
        unwritten=arrays.unwritten,
        filled_to=prepared.filled_to,
        variables={v.symbol: v.element.pack(arrays.values[v.name]) for v in prepared.variables},
        starts={
            one.name: whole(one.start, names, f"start of {one.name}")
            * prepared.element(one).stored.itemsize
            * (1 if one.type else prepared.element(one).lanes)
            for one in prepared.given
            if isinstance(one, Array) and one.start
        },
        images={one.name: one.sampling for one in prepared.given if isinstance(one, Image)},
        check_hazards=settings.check_hazards,
        watch_races_in=_shared_by_blocks(prepared) if settings.check_hazards else (),
        count_requests=settings.count_requests,
        watch=settings.watch,
        only_blocks=_corners(shape.grid) if settings.corners else None,
        schedule=settings.schedule,
        order=settings.order,
        join_products=True,
        time_limit=settings.time_limit,
        max_basic_blocks=max_basic_blocks(size)
        if prepared.multiplies
        else MAX_BASIC_BLOCKS + BASIC_BLOCKS_PER_PRODUCT * elements,
        progress=settings.progress,
    )
    after = {
        called(one): _taken_back(prepared, one, result.arrays[called(one)], arrays)
        for one in prepared.given
        if not isinstance(one, Number)
    }
    for variable in prepared.variables:
        after[variable.name] = variable.element.unpack(result.arrays[variable.symbol])
    return after, result


def _corners(grid: tuple[int, ...]) -> list[int]:
    """The numbers of the blocks at the corners of a grid."""
    x, y, z = (*grid, 1, 1)[:3]
    ends = ((0, size - 1) for size in (z, y, x))
    return sorted({(c * y + b) * x + a for c, b, a in product(*ends)})


def _shared_by_blocks(prepared: Prepared) -> list[str]:
    """The arrays that a kernel may write, in which blocks may meet."""
    written = [
        called(one)
        for one in prepared.given
        if (isinstance(one, Matrix) and one.role == "C")
        or (isinstance(one, Array) and one.use != "in")
    ]
    return written + [v.symbol for v in prepared.variables if v.array.use != "in"]


def _argument(
    prepared: Prepared, place: int, compiled: str, arrays: Arrays, names: Mapping[str, int]
) -> tuple[str, Any]:
    """Return the name and value of what one parameter, or field of a struct, is given.

    Raises:
        LabError: a whole number is wanted, and the value is none.
    """
    one, parameter = prepared.given[place], prepared.parameters[place]
    if not isinstance(one, Number):
        stored = _lay_out(prepared, one, arrays.values[called(one)])
        if isinstance(one, Image):
            stored = _as_image(prepared, one, stored, names)
        return called(one), stored
    value, element = value_of(one, names), parameter.element
    in_struct = compiled.startswith("b8[")
    whole_type = element is not None and element.whole if in_struct else compiled[0] != "f"
    if whole_type and value != int(value):
        raise LabError(f"'{parameter}' takes a whole number, not {one.text}.")
    least, most = _limits(element, compiled)
    if whole_type and not least <= value <= most:
        raise LabError(f"'{parameter}' takes numbers from {least:,} to {most:,}, not {one.text}.")
    if in_struct:
        packed = (element or FLOAT).pack(np.array([value], "f8" if not whole_type else "i8"))
        return parameter.name, packed[0]
    return "", int(value) if whole_type else float(value)


def _as_image(prepared: Prepared, one: Image, stored: Values, names: Mapping[str, int]) -> Values:
    """Give an image its sides; one from a file has those of its array.

    Raises:
        LabError: the file has no array of two or three sides.
    """
    lanes = prepared.element(one).lanes
    if not one.size.endswith(".npy"):
        return stored.reshape(*reversed(one.sides(names)), lanes)
    sides = load_array(Path(one.size)).shape
    sides = sides if lanes == 1 else sides[:-1]
    if not 1 <= len(sides) <= SIDES or stored.size != math.prod(sides) * lanes:
        raise LabError(
            f"{one.size} holds an array of {' × '.join(map(str, sides))}, which is no image of "
            f"{one.type or 'float'}. Its shape is height and width, or depth, height and width."
        )
    return stored.reshape(*([1] * (SIDES - len(sides))), *sides, lanes)


def _limits(element: Element | None, compiled: str) -> tuple[int, int]:
    """The smallest and the largest whole number of a parameter, as far as its type is known."""
    if element is not None and element.stored.kind == "b":
        return 0, 1
    if element is not None and element.whole:
        limits = np.iinfo(element.stored)
        return int(limits.min), int(limits.max)
    bits = int(compiled[1:]) if compiled[1:].isdecimal() else 64
    return -(2 ** (bits - 1)), 2**bits - 1


def _lay_out(prepared: Prepared, given: Given, values: Values) -> Values:
    turned = values.T if isinstance(given, Matrix) and given.by_columns else values
    return np.ascontiguousarray(prepared.element(given).pack(turned))


def _taken_back(prepared: Prepared, given: Given, stored: Values, arrays: Arrays) -> Values:
    values = prepared.element(given).unpack(stored)
    if isinstance(given, Matrix) and given.by_columns:
        values = values.T
    return values.reshape(arrays.values[called(given)].shape)


def _spread(prepared: Prepared, element: Element) -> tuple[int, int]:
    """Return the least and the largest number that an array is filled with.

    Text is filled with letters from one that the kernel names on: "a" to "z" where it has 'a'.
    """
    if element.name == "char":
        named = [ord(letter) for letter in prepared.opened.letters]
        ends = [ord(end) for end in "9Zz" if named and ord(end) >= min(named)]
        if ends:
            return min(named), ends[0]
    least = 0 if element.stored.kind in "ub" else -SPREAD
    return least, 1 if element.stored.kind == "b" else SPREAD


def index_roles(prepared: Prepared) -> Mapping[str, Role]:
    """Return the arrays of assumed arguments that hold indices or row offsets."""
    whole = [
        given.name
        for given, parameter in zip(prepared.given, prepared.parameters, strict=False)
        if isinstance(given, Array) and parameter.element and parameter.element.whole
        and parameter.element.name != "char"
    ]  # fmt: skip
    if prepared.arguments_given or not whole:
        return {}
    roles = prepared.opened.index_roles
    return {name: roles[name] for name in whole if name in roles}


def fitting_indices(
    prepared: Prepared, roles: Mapping[str, Role], names: Mapping[str, int]
) -> tuple[int, int]:
    """Return the length that offsets of rows end at, and what indices stay below."""
    arrays = [one for one in prepared.given if isinstance(one, Array)] if roles else []
    lengths = [one.elements(names) for one in arrays]
    inputs = [
        length for one, length in zip(arrays, lengths, strict=True)
        if one.use == "in" and roles.get(one.name) != "offsets"
    ]  # fmt: skip
    sizes = [size for size in (*lengths, *names.values()) if size > 1]
    return min(inputs, default=0), min([SPREAD + 1, *sizes])


def own_arrays(prepared: Prepared, size: Size, random: np.random.Generator) -> Arrays:
    """Make the arrays that are no matrices of a product: whole numbers, and what they start with.

    Raises:
        LabError: a size or a file cannot be read, or it is too large.
    """
    names = named_numbers(prepared.given, dict(zip("MNK", size, strict=True)))
    values: dict[str, Values] = {}
    unwritten = []
    roles = index_roles(prepared)
    length, bound = fitting_indices(prepared, roles, names)
    for variable in prepared.variables:
        if not is_filled(variable) and not variable.array.size.endswith(".npy"):
            values[variable.name] = variable.element.unpack(variable.start)
    for one in (*prepared.given, *(variable.array for variable in prepared.variables)):
        if not isinstance(one, Array) or one.name in values:
            continue
        element = prepared.element(one)
        if one.size.endswith(".npy"):
            values[one.name] = element.unpack(element.pack(load_array(Path(one.size)).ravel()))
            continue
        numbers = element.lanes if isinstance(one, Image) or not one.type else 1
        count = one.elements(names) * numbers
        if not 1 <= count <= LARGEST_ARRAY:
            raise LabError(f"'{one}' has {count:,} elements. 1 to {LARGEST_ARRAY:,} can be.")
        least, most = _spread(prepared, element)
        role = roles.get(one.name)
        # Whatever is changed in place, such as by a sort, ascends by chance alone.
        if role and (one.use == "in" or (one.use == "inout" and role == "indices")):
            values[one.name] = values_for(role, count, length, bound, random)
        else:
            values[one.name] = random.integers(least, most + 1, count).astype("f8")
        if one.use in ("out", "zero"):
            values[one.name] = np.zeros(count)
        if one.use == "out":
            unwritten.append(one.name)
            if not element.whole:
                values[one.name] = np.full(count, np.nan)
    return Arrays(values, tuple(unwritten))
