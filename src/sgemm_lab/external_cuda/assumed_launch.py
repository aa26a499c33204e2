"""Assumed arguments and launch of a kernel for which the reader gives neither.

Values come from the file's host code as far as it can be read, then from defaults: a size for each
integer that looks like one, arrays of the sizes' product, one thread per element. Each attempt is
described in sentences; the caller takes the first without an access outside its arrays.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sgemm_lab.external_cuda.arguments import Array, Given, Number, Use
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.elements import Element
from sgemm_lab.external_cuda.host_launch import HostLaunch, UnknownError, Value, macros_of
from sgemm_lab.external_cuda.host_values import HALVINGS, LARGEST_KEPT, HostValues
from sgemm_lab.external_cuda.images import assumed_image
from sgemm_lab.external_cuda.kernels import template_values
from sgemm_lab.external_cuda.launch import (
    Prepared,
    assumed_block,
    block_is_free,
    hosts_of,
)
from sgemm_lab.external_cuda.signatures import Parameter, product_arguments
from sgemm_lab.external_cuda.structs import bytes_of_type
from sgemm_lab.external_cuda.template_arguments import usual_of_template
from sgemm_lab.external_cuda.tokens import Token
from sgemm_lab.simulator.limits import MAX_THREADS

MOST_THREADS = 2**18
"""Most threads of an attempt: about a second."""

CLIPPED, CLIPPED_ELEMENTS = (2, 2, 1), 2**24
"""Blocks, and elements of an array, where sizes are constants of the kernel and cannot shrink."""

MOST_ELEMENTS = 2**20
"""Most elements of an array of an attempt."""

MOST_OUTER_THREADS, MOST_OUTER_ELEMENTS = 2**24, 2**23
"""Most threads, and elements of all arrays, of a launch of which only the outer blocks run."""

ROOMY = 256
"""Factor by which arrays grow after an access outside those of the first attempt."""

MOST_SIDES = 4
"""Most sizes whose product is taken as the length of an array."""

MOST_LAUNCHES = 3
"""Most launches of the file that are tried."""

_HALVINGS = (*range(0, HALVINGS, 2), *range(HALVINGS, HALVINGS + 6))
"""How often the file's sizes are halved until its launch is small enough to simulate."""

_SKIPPED = 2
"""Attempts to skip after one that took too long."""

_ALONE, _FEW = 4096, {2: 64, 3: 32}
_MANY, _OF_PRODUCT = 16, 128
"""Defaults for a single size, for each of two or three, for each of more, and for matrices."""

_USUAL = (
    (r"offset|start|begin|base|shift|seed|idx|index|pos|first|lo|low|id|tid|rank|flag|mode", "0"),
    (r"n?iters?|iterations|n?steps|niter|reps?|repeat|loops?|times|num_iters?", "2"),
    (r"radius|r|ksize|filter_?size|kernel_?size|mask_?(?:size|width|dim)|filter_?width", "3"),
    (r"alpha|one", "1"),
)
"""Names of integers that are no sizes, and their values."""


@dataclass(frozen=True)
class Plan:
    """What an attempt assumes."""

    shrunk: int = 0
    """How often sizes are divided by 4."""
    roomy: bool = False
    """Whether arrays of unknown size are enlarged by ``ROOMY``."""
    zeros: bool = False
    """Whether integer arrays hold zeros, as they may be indices."""
    one_block: bool = False
    """Whether an unknown grid is a single block."""
    clipped: bool = False
    """Whether only a few blocks of the file's grid run."""
    narrowed: int = 0
    """How often an unknown block is halved along each axis."""


_PLANS = (
    Plan(), Plan(zeros=True), Plan(1, True), Plan(2, True, True), Plan(0, True, True, True),
    Plan(4, True, True, True),
)  # fmt: skip
_NARROWER = tuple(Plan(1, roomy=True, zeros=True, narrowed=times) for times in (1, 2, 3))
"""For kernels whose shared arrays are too small for the default block."""


@dataclass(frozen=True)
class Try:
    """A launch to try."""

    prepared: Prepared
    certain: bool
    """Whether the file gives every number and array size, none was shrunk, and no array can hold
    indices that are out of bounds."""
    launched: bool
    """Whether the file gives grid and block."""
    elements: int = 0
    """Elements of arrays of unknown size."""
    clipped: bool = False
    """Whether only a few, possibly long, blocks run."""
    narrowed: bool = False
    """Whether the block was shrunk to stay inside the kernel's arrays."""
    outer: bool = False
    """Whether only the blocks at the corners of its grid are to run."""
    made_by: "_Assuming | None" = None


def tries(unknown: Prepared, said: str = "") -> Iterator[Try]:
    """Yield distinct launches of a kernel, the most likely first.

    ``said`` precedes the sentences about the arguments.
    """
    seen = set()
    for found in _every(unknown):
        kernel = found.prepared.kernel
        key = (found.prepared.given, kernel.grid, kernel.block, kernel.shared_bytes)
        if key not in seen:
            seen.add(key)
            argued = f"{said}{found.prepared.argued}"
            yield replace(found, prepared=replace(found.prepared, argued=argued))


def _every(unknown: Prepared) -> Iterator[Try]:
    hosts = [host for host in hosts_of(unknown) if _may_be_of(host, unknown)][:MOST_LAUNCHES]
    for plan in _PLANS:
        for host in hosts:
            first = _fitting(unknown, host, plan)
            steps = () if first is None else (*_HALVINGS[first::_SKIPPED][:3], _HALVINGS[-3])
            if plan != _PLANS[0]:  # what takes too long is known from the first
                steps = steps[:1]
            for halvings in steps:
                found = _Assuming(unknown, host, plan, halvings).found()
                if found is not None:
                    yield found
            found = _Assuming(unknown, host, replace(plan, clipped=True), 0).found()
            if found is not None and _is_small(found, MOST_THREADS, CLIPPED_ELEMENTS):
                yield found
    for plan in (*_PLANS, *(_NARROWER if block_is_free(unknown) else ())):
        found = _Assuming(unknown, None, plan, 0).found()
        if found is not None:
            yield found


def further_tries(done: Try) -> Iterator[Try]:
    """Yield what else to run after a launch of the file, with what it assumed.

    The outer blocks at the file's own sizes, where those were made smaller; its other launches;
    more blocks than one, where the grid follows from a size.
    """
    by = done.made_by
    if by is None or by.host is None or not done.launched:
        return
    plan = replace(by.plan, shrunk=0, clipped=False)
    if by.halvings or by.plan.clipped:
        whole = _Assuming(by.unknown, by.host, plan, 0).found()
        if whole is not None and _is_small_outside(whole):
            said = f"{whole.prepared.assumed} Only the blocks at its corners ran."
            yield replace(whole, outer=True, prepared=replace(whole.prepared, assumed=said))
    for host in hosts_of(by.unknown)[:MOST_LAUNCHES]:
        first = _fitting(by.unknown, host, plan) if _may_be_of(host, by.unknown) else None
        if first is None or host.launch == by.host.launch:
            continue
        other = _Assuming(by.unknown, host, plan, _HALVINGS[first]).found()
        if other is not None and other.launched and other.prepared.given != done.prepared.given:
            yield other
    names = {token.text for token in by.host.launch.shape_tokens[0] if token.kind == "name"}
    if set(done.prepared.kernel.grid) == {"1"} and names - _constants(by.unknown.opened.sources):
        larger = _Assuming(by.unknown, None, _PLANS[0], 0).found()
        if larger is not None:
            yield larger


def _may_be_of(host: HostLaunch, unknown: Prepared) -> bool:
    """Return whether a launch may be of this template instance, judged by its block."""
    own = list(template_values(unknown.opened.kernel, unknown.opened.name).values())
    for tokens, value in zip(host.launch.template_tokens, own, strict=False):
        text = "".join(token.text for token in tokens)
        if text != value and tokens[0].kind == "number" and value.isdecimal():
            return False
    return True


def _fitting(unknown: Prepared, host: HostLaunch, plan: Plan) -> int | None:
    """Return the index of the first of ``_HALVINGS`` that makes the launch small enough."""
    for number, halvings in enumerate(_HALVINGS):
        found = _Assuming(unknown, host, plan, halvings).found()
        if found is None:
            return None
        if _is_small(found, MOST_THREADS, MOST_ELEMENTS):
            return number
    return None


def _is_small_outside(one: Try) -> bool:
    arrays = (array for array in one.prepared.given if isinstance(array, Array))
    elements = sum(array.elements({}) for array in arrays)
    return elements <= MOST_OUTER_ELEMENTS and _is_small(one, MOST_OUTER_THREADS, elements)


def _is_small(one: Try, most_threads: int, most_elements: int) -> bool:
    kernel, given = one.prepared.kernel, one.prepared.given
    sides = [int(side) for side in (*kernel.grid, *kernel.block) if side.isdecimal()]
    threads = math.prod(sides)
    sizes = [array.elements({}) for array in given if isinstance(array, Array)]
    return threads <= most_threads and max([one.elements, *sizes]) <= most_elements


class _Assuming:
    """Builds one attempt."""

    def __init__(
        self, unknown: Prepared, host: HostLaunch | None, plan: Plan, halvings: int
    ) -> None:
        self.unknown = unknown
        self.host = host
        self.plan = plan
        self.halvings = halvings
        self.guessed = False
        self.roomy = False
        self.size = 0
        """Value of each of several sizes; 0 if there are fewer than two."""
        self.kept = frozenset[str]()
        if host is not None:
            opened = unknown.opened
            self.kept = opened.kernel.declaration.words & _constants(opened.sources)
            self.kept |= self._names_in_block()
        self.inside = False
        """Whether a pointer has an unknown offset into its array."""
        self.starts: dict[int, int] = {}
        """Offsets of pointers into their arrays, in elements."""
        self.cleared: dict[int, tuple[int, int]] = {}
        """What ``cudaMemset`` fills arrays with, and how many of their bytes."""
        self.filled_to: dict[str, int] = {}
        """Bytes that an array starts with, where its rest holds nothing."""

    def found(self) -> Try | None:
        unknown, host = self.unknown, self.host
        values, counts = self._host_numbers_of_parameters()
        numbers = self._numbers(values)
        shape = self._shape(numbers)
        if host is not None and shape is None:
            return None
        grid, block, shared = shape or ((), (), 0)
        whole_grid = grid
        if self.plan.clipped:
            grid = tuple(min(pair) for pair in zip(grid, CLIPPED, strict=False))
        if not block:
            block = assumed_block(unknown, self.plan.narrowed)
        sides = sorted((n for n in numbers.values() if isinstance(n, int) and n > 0), reverse=True)
        wanted = max(math.prod(sides[:MOST_SIDES]), math.prod((*grid, *block)))
        most = min(wanted, MOST_ELEMENTS)
        given = self._given(numbers, counts, most)
        if not grid:
            told = max((one.elements({}) for one in given if isinstance(one, Array)), default=1)
            square = self.size**2 if len([side for side in block if side > 1]) > 1 else 0
            covered = square or min(most, told)
            grid = (1,) if self.plan.one_block else _covering(covered, block)
        if min(*grid, *block) < 1 or math.prod(block) > MAX_THREADS:
            return None
        kernel = replace(
            unknown.kernel,
            grid=unknown.kernel.grid or tuple(map(str, grid)),
            block=unknown.kernel.block or tuple(map(str, block)),
            shared_bytes=(
                unknown.kernel.shared_bytes if unknown.kernel.shared_bytes != "0" else str(shared)
            ),
        )
        prepared = replace(
            unknown, kernel=kernel, given=tuple(given), host=None, argued=self._argued(given),
            assumed=self._launched(kernel.grid, kernel.block, whole_grid),
        )  # fmt: skip
        pointed = [p.element for p in unknown.parameters if p.declared.pointer]
        # A struct may hold pointers, and integers may be indices.
        guessed = self.guessed or self.roomy or self.inside or self.halvings or None in pointed
        indices = any(one is not None and one.whole for one in pointed) and not self.plan.zeros
        told = host is not None and bool(shape and shape[0] and shape[1])
        sure = told and not guessed
        numbers_told = told and not (self.guessed or self.halvings or indices or None in pointed)
        prepared = replace(
            prepared, certain=sure and not indices, contents_assumed=sure and indices,
            numbers_told=numbers_told, clipped=self.plan.clipped, filled_to=self.filled_to,
        )  # fmt: skip
        return Try(
            prepared, prepared.certain, told, wanted if self.roomy else 0, self.plan.clipped,
            self.plan.narrowed > 0, made_by=self,
        )  # fmt: skip

    def _reader(self, names: Mapping[str, Value], halvings: int | None = None) -> HostValues:
        assert self.host is not None
        opened = self.unknown.opened

        def bytes_of(type_: str) -> int | None:
            return bytes_of_type(type_, opened.sources, self.unknown.resolve)

        function = self.host.launch.function
        template = {} if function is None else usual_of_template(function)
        return HostValues(
            replace(self.host, template={**template, **self.host.template}), bytes_of, names,
            halvings=self.halvings if halvings is None else halvings,
            kept=self.kept,
        )  # fmt: skip

    def _names_in_block(self) -> set[str]:
        """Names in the file's block, which is not shrunk."""
        assert self.host is not None
        reader = self._reader({}, 0)
        with suppress(UnknownError, IndexError):
            reader.sizes(self.host.launch.shape_tokens[1])
        return reader.followed

    def _arguments(self) -> list[Sequence[Token]]:
        """Tokens of the launch's argument for each parameter; empty if there is none."""
        found: list[Sequence[Token]] = []
        given = () if self.host is None else self.host.launch.argument_tokens
        for number, slot in enumerate(self.unknown.slots):
            single = not slot.struct_bytes and number < len(given)
            found += [given[number] if single else ()] * len(slot.parts)
        return found

    def _host_numbers_of_parameters(self) -> tuple[dict[int, int | float], dict[int, int]]:
        """Numbers and array lengths that the host code gives, by parameter."""
        numbers: dict[int, int | float] = {}
        counts: dict[int, int] = {}
        if self.host is None:
            return numbers, counts
        reader = self._reader({})
        for place, (tokens, parameter) in enumerate(
            zip(self._arguments(), self.unknown.parameters, strict=True)
        ):
            if not tokens:
                continue
            if parameter.image:
                continue
            if parameter.declared.pointer:
                bytes_ = reader.array_bytes(tokens, _width(parameter))
                start = reader.start(tokens)
                self.inside = self.inside or start is None
                if bytes_ and start:
                    self.starts[place] = start
                if bytes_:
                    counts[place] = max(1, bytes_ // _width(parameter))
                cleared = None if parameter.declared.const else reader.cleared(tokens)
                if cleared:
                    self.cleared[place] = cleared
            else:
                found = reader.number(tokens)
                if found is not None and _fits(found, parameter):
                    numbers[place] = found
        return numbers, counts

    def _numbers(self, told: Mapping[int, int | float]) -> dict[int, int | float]:
        """Values of the parameters that are numbers."""
        places = [
            i for i, p in enumerate(self.unknown.parameters)
            if not p.declared.pointer and not p.image
        ]  # fmt: skip
        sizes = [
            i for i in places
            if i not in told and self.unknown.parameters[i].is_whole
            and _usual(self.unknown.parameters[i]) is None
        ]  # fmt: skip
        size = _ALONE if len(sizes) == 1 else _FEW.get(len(sizes), _MANY)
        if product_arguments(self.unknown.opened.kernel.name, self.unknown.parameters) is not None:
            size = _OF_PRODUCT
        size = max(8, size >> 2 * self.plan.shrunk)
        self.size = size if len(sizes) > 1 else 0
        found: dict[int, int | float] = {}
        for i in places:
            parameter = self.unknown.parameters[i]
            if i in told:
                found[i] = told[i]
                continue
            self.guessed = True
            usual = _usual(parameter)
            if not parameter.is_whole:
                found[i] = 1e-5 if "eps" in parameter.declared.name.lower() else 1.0
            else:
                found[i] = _within(int(usual) if usual is not None else size, parameter.element)
        return found

    def _shape(
        self, numbers: Mapping[int, int | float]
    ) -> tuple[tuple[int, ...], tuple[int, ...], int] | None:
        """Grid, block and shared bytes of the file's launch; empty if unknown."""
        if self.host is None:
            return None
        names: dict[str, Value] = {}
        for place, tokens in enumerate(self._arguments()):
            if place in numbers and len(tokens) == 1 and tokens[0].kind == "name":
                names[tokens[0].text] = numbers[place]
        shape = self.host.launch.shape_tokens
        if len(shape) < 2:
            return None
        try:
            block = self._reader(names, 0).sizes(shape[1])
        except UnknownError:
            block = ()
        if not 1 <= math.prod(block) <= MAX_THREADS:
            block = ()
        try:
            grid = self._reader(names).sizes(shape[0])
        except UnknownError:
            grid = ()
        if not grid and not block:
            return None
        shared = self._reader(names, 0).number(shape[2]) if len(shape) > 2 else 0
        return grid, block, int(shared or 0)

    def _given(
        self, numbers: Mapping[int, int | float], counts: Mapping[int, int], most: int
    ) -> list[Given]:
        given: list[Given] = []
        names: set[str] = set()
        whole_numbers = {
            self.unknown.parameters[place].declared.name.rpartition(".")[2]: value
            for place, value in numbers.items()
            if isinstance(value, int)
        }
        compiled = self._compiled_names()
        for place, parameter in enumerate(self.unknown.parameters):
            name = _name(parameter, place, names)
            if parameter.image:
                self.roomy = True
                opened = self.unknown.opened
                given.append(
                    assumed_image(
                        opened.compiled, compiled[place], parameter, name, whole_numbers, most,
                        opened.sources,
                    )
                )  # fmt: skip
                continue
            if not parameter.declared.pointer:
                value = numbers[place]
                named = isinstance(value, int) and name not in ("M", "N", "K")
                given.append(Number(str(value), name if named else ""))
                continue
            known = parameter.element
            size = counts.get(place)
            if size is not None and self.halvings and self.plan.roomy:
                size = max(size, most)  # what was made smaller may no longer go together
            if size is None:
                self.roomy = True
                size = min(MOST_ELEMENTS, most * (ROOMY if self.plan.roomy else 1))
                size = max(1, size // (known.lanes if known else 1))
            value, bytes_ = self.cleared.get(place, (1, size * _width(parameter)))
            if bytes_ < counts.get(place, 0) * _width(parameter):
                self.filled_to[name] = bytes_
            whole = known is not None and known.whole and self.plan.zeros
            use: Use = "in" if parameter.declared.const else "inout"
            use = "zero" if whole or (known is None and value == 0) else use
            start = self.starts.get(place, 0)
            start_text = str(start) if 0 < start < size else ""
            given.append(Array(name, use, str(size), "" if known else "float", start_text))
        return given

    def _compiled_names(self) -> list[str]:
        """Names of the parameters in the PTX; fields have their struct's name."""
        slots = zip(self.unknown.slots, self.unknown.opened.compiled.parameters, strict=True)
        return [one.name for slot, one in slots for _ in slot.parts]

    def _argued(self, given: Sequence[Given]) -> str:
        if not given:
            return ""
        text = " ".join(map(str, given))
        if self.host is None or self.guessed or self.roomy:
            said = f"Arguments, assumed: {text}. Say --args where they are others."
        else:
            said = f"Arguments, told by line {self.host.launch.line}: {text}."
        if self.roomy:
            said += " Sizes of arrays are assumed, so an index beyond the true ones is not seen."
        return said

    def _launched(
        self, grid: Sequence[str], block: Sequence[str], whole_grid: Sequence[int]
    ) -> str:
        told = "assumed" if self.host is None else f"told by line {self.host.launch.line}"
        said = (
            f"Launch, {told}: a grid of {' × '.join(grid)} blocks of {' × '.join(block)} threads."
        )
        if math.prod(whole_grid) > math.prod(int(side) for side in grid if side.isdecimal()):
            said += f" The file's own has {math.prod(whole_grid):,} blocks, too many to run here."
        if self.halvings:
            beyond = f" beyond {LARGEST_KEPT:,}" if self.halvings <= HALVINGS else ""
            said += f" Sizes of the file{beyond} are made smaller, so that it runs here."
        if self.host is None:
            said += " Say --grid and --block where it is another."
        return said


def _constants(sources: Sources) -> frozenset[str]:
    """Names of macros and of declarations outside functions."""
    every = [d for file in sources.files for d in file.declarations]
    return frozenset(macros_of(sources)).union(*(d.names for d in every if d.kind == "other"))


def _width(parameter: Parameter) -> int:
    """Bytes of one element as ``--args`` counts them."""
    element = parameter.element
    return 4 if element is None else element.stored.itemsize * element.lanes


def _usual(parameter: Parameter) -> str | None:
    name = parameter.declared.name.rpartition(".")[2].lower().strip("_")
    if parameter.element is not None and parameter.element.stored.kind == "b":
        return "1"
    return next((text for pattern, text in _USUAL if re.fullmatch(pattern, name)), None)


def _within(value: int, element: Element | None) -> int:
    if element is None or element.stored.kind not in "iu":
        return value if element is None or element.stored.kind != "b" else min(1, value)
    return min(value, int(np.iinfo(element.stored).max))


def _fits(value: int | float, parameter: Parameter) -> bool:
    """Return whether a parameter can hold a number of the host code."""
    element = parameter.element
    if not parameter.is_whole or element is None:
        return True
    if value != int(value):
        return False
    return element.stored.kind == "b" or bool(
        np.iinfo(element.stored).min <= value <= np.iinfo(element.stored).max
    )


def _name(parameter: Parameter, place: int, names: set[str]) -> str:
    """A unique name that ``--args`` accepts."""
    plain = re.sub(r"\W+", "_", parameter.declared.name).strip("_") or f"p{place + 1}"
    if parameter.declared.pointer and plain in ("A", "B", "C"):
        plain = plain.lower()
    while plain in names:
        plain += "_"
    names.add(plain)
    return plain


def _covering(elements: int, block: Sequence[int]) -> tuple[int, ...]:
    """The grid with one thread per element."""
    if len([side for side in block if side > 1]) <= 1:
        return (-(-min(elements, MOST_THREADS) // math.prod(block)),)
    side = math.isqrt(min(elements, MOST_THREADS) - 1) + 1
    return tuple(-(-side // threads) for threads in block[:2])
