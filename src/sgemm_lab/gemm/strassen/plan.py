"""Plans for Strassen's product: steps, memory layout and workspace.

A plan is a list of steps on matrices in A, B, C or the workspace. Each level cuts a product into
seven. The leaves are multiplied by any product of contiguous matrices.

Sizes that do not divide are padded virtually: quadrants have the size of the padded matrix, reads
outside of A and B return zero, and writes outside of C are skipped.

A level has one of three schedules. *Wide* makes all sums of A in one pass, those of B in another,
and C from seven products in a third. *Lean* makes one factor at a time and adds each product to C
at once: more memory traffic in a fifth of the workspace. *Twice* fuses the last two levels, 49
products: intermediate sums stay in registers. All schedules add in the same order, so their results
are bit-identical.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.gemm.strassen.winograd import LEFT, PRODUCTS, QUADRANTS, RIGHT, terms
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Size
from sgemm_lab.text import bytes_moved_text, plural, size_text

WIDE, LEAN, TWICE = "wide", "lean", "twice"
LEVELS = {WIDE: 1, LEAN: 1, TWICE: 2}
"""Levels that a schedule covers."""

VECTOR = 4
"""Columns of a leaf are a multiple of this, so that rows are float4-aligned."""

ALIGNED = 64
"""Alignment of a matrix in the workspace, in floats (256 bytes, as in CuPy's allocator)."""

MOST_LEVELS = 6

Shape = tuple[int, int]
"""Rows and columns."""


@dataclass(frozen=True)
class View:
    """A row-major matrix in A, B, C or the workspace. Offset and stride count floats."""

    place: str
    """"A", "B", "C" or "work"."""
    offset: int
    stride: int
    """Between the starts of two rows."""
    rows: int
    """Existing rows and columns; reads beyond them return zero."""
    columns: int

    def quadrant(self, name: str, half: Shape) -> "View":
        """Return the quadrant "11", "12", "21" or "22", whose padded size is ``half``."""
        down, right = int(name[0]) - 1, int(name[1]) - 1
        return View(
            self.place,
            self.offset + down * half[0] * self.stride + right * half[1],
            self.stride,
            max(0, min(half[0], self.rows - down * half[0])),
            max(0, min(half[1], self.columns - right * half[1])),
        )

    def slab(self, number: int, count: int) -> "View":
        """Return one of ``count`` equal matrices that are stacked vertically."""
        rows = self.rows // count
        offset = self.offset + number * rows * self.stride
        return View(self.place, offset, self.stride, rows, self.columns)

    @property
    def elements(self) -> int:
        """Existing elements."""
        return self.rows * self.columns


Named = tuple[tuple[str, View], ...]
"""Matrices of the workspace by their names in ``winograd``."""


@dataclass(frozen=True)
class Factors:
    """A pass over a left or right factor: reads quadrants, writes sums and copies."""

    matrix: str
    """"A" for a left factor, "B" for a right one."""
    source: View
    half: Shape
    targets: Named
    """Contiguous, of the size ``half``."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The quadrants that the targets use: "11" and so on."""
        used = {part[1:] for name, _ in self.targets for part, _ in terms(name)}
        return tuple(quadrant for quadrant in QUADRANTS if quadrant in used)

    @property
    def floats(self) -> int:
        """Floats read and written."""
        read = sum(self.source.quadrant(name, self.half).elements for name in self.reads)
        return read + sum(view.elements for _, view in self.targets)


@dataclass(frozen=True)
class Multiply:
    """A leaf: product = left·right."""

    left: View
    right: View
    product: View

    @property
    def size(self) -> Size:
        """M, N, K."""
        return self.product.rows, self.product.columns, self.left.columns


@dataclass(frozen=True)
class Join:
    """A pass that computes the quadrants of a result from the seven products."""

    products: Named
    half: Shape
    result: View

    @property
    def floats(self) -> int:
        """Floats read and written."""
        return sum(view.elements for _, view in self.products) + self.result.elements


@dataclass(frozen=True)
class Spread:
    """A pass that adds one product to every quadrant of C that contains it."""

    name: str
    product: View
    half: Shape
    result: View

    @property
    def targets(self) -> tuple[tuple[str, int, bool], ...]:
        """Quadrants, each with the product's sign, and whether it is the first product there."""
        found = []
        for quadrant in QUADRANTS:
            signs = dict(terms(f"C{quadrant}"))
            if self.name in signs:
                first = next(one.name for one in PRODUCTS if one.name in signs)
                found.append((quadrant, signs[self.name], first == self.name))
        return tuple(found)

    @property
    def floats(self) -> int:
        """Floats read and written."""
        moved = self.product.elements
        for quadrant, _, first in self.targets:
            moved += (1 if first else 2) * self.result.quadrant(quadrant, self.half).elements
        return moved


@dataclass(frozen=True)
class FactorsTwice:
    """A pass over a left or right factor that makes the 49 factors of two levels."""

    matrix: str
    """"A" for a left factor, "B" for a right one."""
    source: View
    half: Shape
    """Rows and columns of a quarter, all of which the pass reads at once."""
    factors: View
    """Stacked by outer and inner product, each of the size ``half``."""

    @property
    def floats(self) -> int:
        """Floats read and written."""
        return self.source.elements + self.factors.elements


@dataclass(frozen=True)
class JoinTwice:
    """A pass that computes a result from the 49 products of two levels."""

    products: View
    """Stacked by outer and inner product."""
    half: Shape
    """Rows and columns of a quarter."""
    result: View

    @property
    def floats(self) -> int:
        """Floats read and written."""
        return self.products.elements + self.result.elements


Addition = Factors | Join | Spread | FactorsTwice | JoinTwice
Step = Addition | Multiply


@dataclass(frozen=True)
class Plan:
    """Sequential steps of C = A·B for a size."""

    size: Size
    schedules: tuple[str, ...]
    """Outermost level first. Only the last can be "twice"."""

    @property
    def levels(self) -> int:
        """Recursion depth."""
        return sum(LEVELS[schedule] for schedule in self.schedules)

    @cached_property
    def leaf(self) -> Size:
        """M, N, K of the leaf products."""
        if not self.levels:
            return self.size
        m, n, k = (ceil(extent / 2**self.levels) for extent in self.size)
        return m, _rounded(n, VECTOR), _rounded(k, VECTOR)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps, with the recursion unrolled."""
        return tuple(self._steps(self._whole, 0, 0))

    @property
    def _whole(self) -> Multiply:
        m, n, k = self.size
        return Multiply(View("A", 0, k, m, k), View("B", 0, n, k, n), View("C", 0, n, m, n))

    @cached_property
    def workspace_bytes(self) -> int:
        """Bytes of workspace: the matrices of one schedule at each depth."""
        return FLOAT_BYTES * sum(map(self._floats, range(len(self.schedules))))

    @property
    def products(self) -> int:
        """Number of leaf products."""
        return int(7**self.levels)

    @cached_property
    def moved_bytes(self) -> int:
        """Bytes that the additions read and write."""
        return FLOAT_BYTES * self._moved(self._whole, 0, {})

    def _moved(self, whole: Multiply, stage: int, known: dict[Any, int]) -> int:
        """Return the floats that the additions of a product move; memoized in ``known``."""
        key = stage, *((v.rows, v.columns) for v in (whole.left, whole.right, whole.product))
        if stage < len(self.schedules) and key not in known:
            known[key] = sum(
                self._moved(step, stage + 1, known) if isinstance(step, Multiply) else step.floats
                for step in self._cut(whole, stage, 0)
            )
        return known.get(key, 0)

    def _shapes(self, stage: int) -> dict[str, Shape]:
        """Return the sizes of the factors and products of a schedule."""
        inner = sum(LEVELS[schedule] for schedule in self.schedules[stage + 1 :])
        m, n, k = (extent << inner for extent in self.leaf)
        return {"left": (m, k), "right": (k, n), "product": (m, n)}

    def _names(self, stage: int) -> dict[str, tuple[str, ...]]:
        """Return the names of a schedule's matrices in the workspace, by kind."""
        if self.schedules[stage] != WIDE:
            return {"left": ("X",), "right": ("Y",), "product": ("P",)}
        last = stage == len(self.schedules) - 1
        # Leaves take contiguous matrices, so the last level copies quadrants that are not sums.
        return {
            "left": (*(("A11", "A12", "A22") if last else ()), *(one.name for one in LEFT)),
            "right": (*(("B11", "B21", "B22") if last else ()), *(one.name for one in RIGHT)),
            "product": tuple(one.name for one in PRODUCTS),
        }

    def _matrices(self, stage: int, free: int) -> dict[str, View]:
        """Return a schedule's matrices in the workspace, from ``free`` on."""
        found = {}
        stacked = len(PRODUCTS) ** 2 if self.schedules[stage] == TWICE else 1
        for kind, names in self._names(stage).items():
            rows, columns = self._shapes(stage)[kind]
            for name in names:
                found[name] = View("work", free, columns, stacked * rows, columns)
                free += _rounded(found[name].elements, ALIGNED)
        return found

    def _floats(self, stage: int) -> int:
        """Return the floats of a schedule's matrices in the workspace."""
        held = self._matrices(stage, 0).values()
        return sum(_rounded(view.elements, ALIGNED) for view in held)

    def _steps(self, whole: Multiply, stage: int, free: int) -> Iterator[Step]:
        """Yield the steps of a product by the schedules from ``stage`` on."""
        if stage == len(self.schedules):
            yield whole
            return
        inner = free + self._floats(stage)
        for step in self._cut(whole, stage, free):
            if isinstance(step, Multiply):
                yield from self._steps(step, stage + 1, inner)
            else:
                yield step

    def _cut(self, whole: Multiply, stage: int, free: int) -> Iterator[Step]:
        """Yield the steps of one schedule without recursion."""
        steps = {WIDE: self._wide, LEAN: self._lean, TWICE: self._twice}[self.schedules[stage]]
        return steps(whole.left, whole.right, whole.product, stage, self._matrices(stage, free))

    def _wide(self, a: View, b: View, c: View, stage: int, held: dict[str, View]) -> Iterator[Step]:
        names, shapes = self._names(stage), self._shapes(stage)
        for matrix, source, kind in (("A", a, "left"), ("B", b, "right")):
            targets = tuple((name, held[name]) for name in names[kind])
            yield Factors(matrix, source, shapes[kind], targets)
        for one in PRODUCTS:
            left = held.get(one.left) or a.quadrant(one.left[1:], shapes["left"])
            right = held.get(one.right) or b.quadrant(one.right[1:], shapes["right"])
            yield Multiply(left, right, held[one.name])
        products = tuple((name, held[name]) for name in names["product"])
        yield Join(products, shapes["product"], c)

    def _lean(self, a: View, b: View, c: View, stage: int, held: dict[str, View]) -> Iterator[Step]:
        shapes, last = self._shapes(stage), stage == len(self.schedules) - 1
        for one in PRODUCTS:
            factors = []
            for matrix, source, kind, name, target in (
                ("A", a, "left", one.left, held["X"]),
                ("B", b, "right", one.right, held["Y"]),
            ):
                if last or name[0] != matrix:
                    yield Factors(matrix, source, shapes[kind], ((name, target),))
                    factors.append(target)
                else:
                    factors.append(source.quadrant(name[1:], shapes[kind]))
            yield Multiply(factors[0], factors[1], held["P"])
            yield Spread(one.name, held["P"], shapes["product"], c)

    def _twice(
        self, a: View, b: View, c: View, stage: int, held: dict[str, View]
    ) -> Iterator[Step]:
        shapes = self._shapes(stage)
        yield FactorsTwice("A", a, shapes["left"], held["X"])
        yield FactorsTwice("B", b, shapes["right"], held["Y"])
        for number in range(len(PRODUCTS) ** 2):
            left, right, product = (held[name].slab(number, len(PRODUCTS) ** 2) for name in "XYP")
            yield Multiply(left, right, product)
        yield JoinTwice(held["P"], shapes["product"], c)


def make_plan(size: Size, levels: int, limit: int | None = None) -> Plan:
    """Return the plan with the least memory traffic within a workspace limit.

    The limit is in bytes, by default ``default_workspace``.

    Raises:
        LabError: too many levels, or the workspace is too small.
    """
    if not 0 <= levels <= MOST_LEVELS:
        raise LabError(f"There can be 0 to {MOST_LEVELS} levels, not {levels}.")
    limit = default_workspace(size) if limit is None else limit
    plans = [Plan(size, schedules) for schedules in schedule_choices(levels)]
    fitting = [plan for plan in plans if plan.workspace_bytes <= limit]
    if not fitting:
        least = bytes_moved_text(min(plan.workspace_bytes for plan in plans))
        raise LabError(
            f"{plural(levels, 'level')} of {size_text(size)} would take {least} of workspace at "
            f"least, and the limit is {bytes_moved_text(limit)}. Allow more, or take fewer levels."
        )
    return min(fitting, key=lambda plan: plan.moved_bytes)


def schedule_choices(levels: int) -> list[tuple[str, ...]]:
    """Return the possible schedules for a number of levels.

    Outer levels need the most workspace and have the fewest additions, so they become lean first.
    The last two levels can be fused.
    """
    found = []
    for inner in ((), (TWICE,)) if levels >= 2 else ((),):
        single = levels - sum(LEVELS[schedule] for schedule in inner)
        found += [(LEAN,) * lean + (WIDE,) * (single - lean) + inner for lean in range(single + 1)]
    return found


def default_workspace(size: Size) -> int:
    """Return the default limit of workspace in bytes: 1.5 times A, B and C.

    That suffices for the last two levels fused below a lean one.
    """
    m, n, k = size
    return FLOAT_BYTES * (m * k + k * n + m * n) * 3 // 2


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step
