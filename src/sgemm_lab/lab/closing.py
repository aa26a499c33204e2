"""The closing box of a kernel: what bounded its parent, what changed, by how much, what bounds now.

Every number comes from ``models.measured_bound``. One function writes the last line of a box and
the first line of its child's box, so they agree to the digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.closing_box import CUBE, LINE, at_text, before_term, box, now_term
from sgemm_lab.lab.closing_counters import parts_text, waits_text
from sgemm_lab.lab.output import Unavailable, of_gpus, sentence
from sgemm_lab.lab.speeds import find_scores
from sgemm_lab.models.bound import DATA, DRAM, GRID, HOLDS, ISSUE, L2, LOOKUP, SCHEDULERS, Cap
from sgemm_lab.models.difference import comparison, differ
from sgemm_lab.models.measured_bound import (
    MeasuredBound,
    at_size,
    nearest_ancestor,
    of_ladder,
    on_other_gpus,
    parent_of,
    required_ancestor,
)
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import four_digits, number, percent, size_text, with_spaced_percents
from sgemm_lab.wgsl.programs import has_program

PER_STEP = "multiply-add of a warp"

_HUES = {
    DATA: "var(--lab-shared, #b94000)",
    LOOKUP: "var(--lab-shared, #b94000)",
    L2: "var(--lab-l2, #127a55)",
    DRAM: "var(--lab-dram, #163f94)",
}
_LEGEND = (
    "How to read such a box. The bar: pale is the speed of the kernel before, solid what this one "
    "adds, faint what it loses. The dashed frame ends at the bound, the speed at which one unit of "
    "the GPU would be busy in every clock. The predicted factor compares the demands on that unit, "
    f"its work per {PER_STEP} (64 FLOP), or the bounds where another unit is the lowest now. A "
    "kernel that reaches less than 80 % of its lowest bound is not held by it: then the box calls "
    "it a ceiling and says what the warps wait for."
)
"""Stands in the box of the first kernel."""
_HIDDEN = (
    "What its blocks ask of L1 and shared memory is not counted, so a lower cap may be hidden."
)
_PLAIN = "var(--lab-kernel, #3b4450)"


class Factor(NamedTuple):
    """A quotient with its two numbers, as the reader can divide them again."""

    above: float
    below: float
    unit: str
    """What the two count."""

    @property
    def value(self) -> float:
        """The quotient."""
        return self.above / self.below

    @property
    def text(self) -> str:
        """The division and its result: "2 ÷ 1.625 wavefronts = 1.23"."""
        above, below = four_digits(self.above), four_digits(self.below)
        return f"{above} ÷ {below} {self.unit} = {factor_text(self.value)}"


def factor_text(value: float) -> str:
    """Return two decimals; three near 1, where the rule of no difference decides."""
    return f"{value:.{3 if abs(value - 1) < 0.1 else 2}f}"


@dataclass(frozen=True)
class Closing:
    """The content of a closing box. ``before`` is None if no ancestor was measured there."""

    before: MeasuredBound | None
    now: MeasuredBound
    changed: str
    gap: str = ""
    why: str = ""
    estimate: Factor | None = None
    on_others: tuple[MeasuredBound, ...] = ()
    """The same kernel at the same size on other GPUs."""
    was: str = ""
    """What held the ancestor, where that is none of its bounds."""
    elsewhere: tuple["Closing", ...] = ()
    """The boxes of the same step on other GPUs, without the reasons: those are of this GPU."""
    here: str = ""
    """What this session measured of the kernel on this machine's GPU; empty where there is none."""

    @property
    def measured(self) -> Factor | None:
        """The speed over the ancestor's speed at the same size."""
        if self.before is None:
            return None
        return Factor(self.now.score.gflops, self.before.score.gflops, "GFLOP/s")

    @property
    def predicted(self) -> Factor | None:
        """The quotient of the demands, or of the bounds where the unit or its rate changed.

        The rate changes where tensor cores multiply in another arithmetic.
        """
        if self.before is None:
            return None
        old, new = self.before.bound, self.now.bound
        if (old.cap.unit, old.cap.rate) == (new.cap.unit, new.cap.rate):
            counted_in = "even shares" if new.cap.unit == GRID else new.cap.counted_in
            return Factor(old.cap.demand, new.cap.demand, counted_in)
        return Factor(new.gflops, old.gflops, "GFLOP/s")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Four lines, and one per other GPU: term and sentence. Code stands in backticks."""
        return [
            self._before_row(),
            ("What changed", with_spaced_percents(self.changed)),
            ("Factor", with_spaced_percents(self._factor_text())),
            *self._parts_row(),
            (now_term(self.now.share), with_spaced_percents(self._now_text())),
            *self._waits_row(),
            *(("Other GPU", with_spaced_percents(self._other_text(one))) for one in self.on_others),
            *([("Measured here", with_spaced_percents(self.here))] if self.here else []),
        ]

    @property
    def arithmetic(self) -> list[tuple[str, str]]:
        """The numbers behind the four lines: term and division."""
        demand = ("Demand", _demand_text(self.now.bound.cap))
        if self.before is None or self.measured is None or self.predicted is None:
            return [demand]
        old, new = (f"{100 * one.share:.1f} %" for one in (self.before, self.now))
        return [
            demand,
            ("Estimated", self.estimate.text)
            if self.estimate
            else ("Predicted", self.predicted.text),
            ("Measured", self.measured.text),
            ("Share of bound", f"{old} before, {new} now"),
        ]

    def _parts_row(self) -> list[tuple[str, str]]:
        """The factor by counters, where issue slots are the lowest bound of both kernels."""
        if self.before is None or {self.before.bound.cap.unit, self.now.bound.cap.unit} != {ISSUE}:
            return []
        parts = parts_text(self.before.numbers, self.now.numbers, self.now.record.gpu.sms)
        return [("By counters", parts)] if parts else []

    def _before_row(self) -> tuple[str, str]:
        if self.before is None:
            return "Was bound by", self._no_ancestor()
        brief = f"{_brief(self.before)}."
        waited = "" if self.before.share >= HOLDS else waits_text(self.before.numbers)
        if waited:
            brief = f"{brief} Its warps waited: {waited} of their time."
        if not self.was:
            return before_term(self.before.share), brief
        return "Was bound by", f"{with_spaced_percents(self.was)} Ceiling: {brief}"

    def _waits_row(self) -> list[tuple[str, str]]:
        waits = "" if self.now.share >= HOLDS else waits_text(self.now.numbers)
        return [("Waits for", f"{waits} of a warp's time.")] if waits else []

    def _no_ancestor(self) -> str:
        parent = parent_of(self.now.kernel)
        if parent is None:
            return "No kernel stood before."
        size = size_text(self.now.score.size)
        return f"Not known: `{parent.display_name}` was not measured at {size}."

    def _now_text(self) -> str:
        hidden = "" if self.is_whole else f" {_HIDDEN}"
        return f"{_bound_text(self.now)}.{hidden} {self.why}".strip()

    def _other_text(self, other: MeasuredBound) -> str:
        ratio = other.score.gflops / self.now.score.gflops
        how = comparison(ratio) if differ(ratio) else "the same speed"
        return (
            f"{other.score.gpu}: {number(other.score.gflops)} GFLOP/s, {how}; "
            f"{percent(other.share)} of the {number(other.bound.gflops)} GFLOP/s that "
            f"{other.bound.unit} allow{'' if other.bound.unit.endswith('slots') else 's'} there."
        )

    @property
    def is_whole(self) -> bool:
        """Whether the demand on every unit is known, so that no lower cap is hidden."""
        return self.now.bound.of(DATA) is not None

    def _factor_text(self) -> str:
        if self.measured is None or self.predicted is None:
            return "Nothing to compare with."
        times = factor_text(self.measured.value)
        expected = f"{factor_text(self.predicted.value)} predicted"
        if self.estimate is not None:
            expected = f"{factor_text(self.estimate.value)} estimated"
        if differ(self.measured.value):
            text = f"{times} times as fast; {expected}."
        else:
            text = f"No difference ({times}); {expected}."
        return f"{text} {self.gap}".strip()

    @property
    def picture_text(self) -> str:
        """A description of the bar."""
        parts = [self.before, self.now] if self.before else [self.now]
        speeds = [f"{one.kernel.display_name} {number(one.score.gflops)}" for one in parts]
        return f"{', '.join(speeds)}, at most {number(self.now.bound.gflops)} GFLOP/s"

    def _repr_html_(self) -> str:
        gpu = self.now.score.gpu
        boxes = [(gpu, self._box(self.provenance, has_program(self.now.kernel.name)))]
        for other in self.elsewhere:
            score = other.now.score
            source = f"{score.gpu}, {score.date[:10]}. Further reasons are in the box of the {gpu}."
            boxes.append((score.gpu, other._box(source)))
        return of_gpus(boxes)

    def _box(self, provenance: str, has_twin: bool = False) -> str:
        """Return the box of one GPU."""
        kernel, size = self.now.kernel, self.now.score.size
        legend = f'<p style="margin:10px 0 0">{escape(_LEGEND)}</p>' if not kernel.parent else ""
        program = kernel.name if size == CUBE and has_twin else ""
        return box(
            kernel.display_name, size, self._bar(), self.rows, provenance, legend, program,
            folded=self.arithmetic,
        )  # fmt: skip

    def _bar(self) -> str:
        """The speed on the way to its bound, the parent's as a line across it, and the names."""
        limit = self.now.bound.gflops
        most = max(limit, *(one.score.gflops for one in (self.before, self.now) if one))
        hue = _HUES.get(self.now.bound.cap.unit, _PLAIN)

        def place(gflops: float) -> float:
            return round(1000 * gflops / most, 1)

        now = place(self.now.score.gflops)
        old = place(self.before.score.gflops) if self.before else 0.0
        fixed = 'vector-effect="non-scaling-stroke"'
        gained_from = min(old, now)
        lost = (
            f'<rect x="{now}" y="2" width="{old - now:.1f}" height="20" fill="{hue}" '
            'fill-opacity="0.12"/>'
            if old > now
            else ""
        )
        drawn = (
            f'<rect y="2" width="{place(limit)}" height="20" fill="none" stroke="{hue}" '
            f'stroke-dasharray="4 3" {fixed}/>'
            f'<rect y="2" width="{gained_from}" height="20" fill="{hue}" fill-opacity="0.4"/>'
            f'<rect x="{gained_from}" y="2" width="{now - gained_from:.1f}" height="20" '
            f'fill="{hue}"/>{lost}'
        )
        names = ""
        if self.before is not None:
            drawn += f'<path d="M{old} 0V24" stroke="{LINE}" stroke-width="3" {fixed}/>'
            names = f"<span>{_speed(self.before)}</span><span>→</span>"
        return (
            f'<svg role="img" aria-label="{escape(self.picture_text)}" viewBox="0 0 1000 24" '
            f'preserveAspectRatio="none" style="display:block;width:100%;height:24px">{drawn}</svg>'
            '<div style="display:flex;flex-wrap:wrap;gap:0 10px;margin-top:4px;font-size:13px">'
            f"{names}<span><strong>{_speed(self.now)}</strong></span>"
            f'<span style="margin-left:auto">at most {number(limit)} · '
            f"{escape(self.now.bound.unit)}</span></div>"
        )

    @property
    def provenance(self) -> str:
        """Where the numbers come from."""
        score = self.now.score
        counted = "counted in one block, simulated"
        if not self.is_whole:
            counted = "blocks of the grid, A and B read once"
        return (
            f"Recorded on {score.gpu}, {score.date[:10]}. Demand: {counted}; instructions by the "
            "GPU's counters."
        )

    def __repr__(self) -> str:
        lines = [f"Where {self.now.kernel.display_name} stands: {self.picture_text}"]
        lines += [f"  {term}: {text}" for term, text in (*self.rows, *self.arithmetic)]
        return "\n".join([*lines, self.provenance])


def closing(
    kernel: str | Kernel,
    changed: str = "",
    *,
    gap: str = "",
    why: str = "",
    was: str = "",
    estimate: tuple[float, float, str] | None = None,
    size: AnySize | None = None,
) -> Closing | Unavailable:
    """Close a kernel: what bounded its parent, what changed, by how much, what bounds it now.

    Args:
        changed: what the kernel does differently; by default the line in its head comment.
        gap: why the factor measured is not the factor predicted.
        why: why the kernel does not reach all of its bound.
        was: what held the kernel before, where it was far below all its bounds.
        estimate: a quotient of a model that is no bound: two numbers, and what they count. It
            stands in place of the factor that the bounds predict.
        size: where the kernel belongs, if that is not 4096³. Its parent is compared there, if it
            was measured.

    The texts may name numbers in braces, such as ``{share:.0f}``, ``{issue_active_percent:.0f}`` or
    ``{was_rest:.3f}``: those of ``MeasuredBound.numbers``, and the ancestor's with ``was_``.

    Returns a box that says so where the kernel is not yet measured.

    Raises:
        LabError: a text names an unknown number, or no ancestor was measured at the same size.
    """
    kernel = kernel_of(kernel)
    records = session.book_records()
    at = None if size is None else size_of(size)
    now = of_ladder(kernel, records) if at is None else at_size(kernel, at, records)
    if now is None:
        return _open_box(kernel, at)
    before = required_ancestor(now) if at is None else nearest_ancestor(now)
    numbers = now.numbers
    if before is not None:
        numbers |= {f"was_{name}": value for name, value in before.numbers.items()}
    changed = _filled(changed, numbers) or _change(kernel)
    others = tuple(on_other_gpus(now, records))
    return Closing(
        before,
        now,
        changed,
        gap=_filled(gap, numbers),
        why=_filled(why, numbers),
        was=_filled(was, numbers),
        estimate=Factor(*estimate) if estimate else None,
        on_others=others,
        elsewhere=tuple(
            Closing(nearest_ancestor(one), one, changed, on_others=(now,)) for one in others
        ),
        here=_measured_here(before, now),
    )


def _measured_here(before: MeasuredBound | None, now: MeasuredBound) -> str:
    """Measure a kernel and its ancestor on this machine's GPU, if it has one that can run them."""
    kernels = [one.kernel for one in (before, now) if one is not None]
    size = now.score.size
    if not session.live() or session.lacking(kernels):
        return ""
    if len(find_scores(kernels, [size], session.here())) < len(kernels):
        session.measure_here(kernels, [size])
    found = {score.kernel: score for score in find_scores(kernels, [size], session.here())}
    if now.kernel.name not in found:
        return ""
    score = found[now.kernel.name]
    text = f"{score.gpu}: {number(score.gflops)} GFLOP/s, {percent(score.share)} of cuBLAS there"
    if before is None or before.kernel.name not in found:
        return f"{text}."
    ratio = score.gflops / found[before.kernel.name].gflops
    return f"{text}; {comparison(ratio)} against `{before.kernel.display_name}`."


def not_measured(kernel: Kernel) -> Unavailable:
    """Return the sentence that a kernel is not yet measured."""
    text = not_yet_measured([kernel.name])
    return Unavailable(sentence(text).html, text)


def _open_box(kernel: Kernel, size: Size | None) -> Unavailable:
    """Return the box of a kernel that is not yet measured: what it changes, and what to do."""
    waiting = not_yet_measured([kernel.name], f" at {size_text(size)}" if size else "")
    html = box(kernel.display_name, size or CUBE, "", [("What changed", _change(kernel))], waiting)
    said = [f"Where {kernel.display_name} stands:", f"  What changed: {_change(kernel)}", waiting]
    return Unavailable(html, "\n".join(said))


def _change(kernel: Kernel) -> str:
    """What the kernel's own file says that it changes."""
    constants = kernel.name.partition(":")[2]
    if constants:
        return f"Constants alone: {constants.replace(',', ', ')}."
    return kernel.change or "It is the first kernel."


def _brief(one: MeasuredBound) -> str:
    """What bounds a kernel, and how much of that it reaches; without a full stop."""
    unit = one.bound.unit
    return f"{unit[0].upper()}{unit[1:]}, {percent(one.share)} reached"


def _bound_text(one: MeasuredBound) -> str:
    """What bounds a kernel, the bound, and the share reached; without a full stop."""
    unit, cap = one.bound.unit, one.bound.cap
    return (
        f"{unit[0].upper()}{unit[1:]}, at most {number(cap.gflops)} GFLOP/s"
        f"{at_text(one.score.size)}: {percent(one.share)} reached"
    )


def _demand_text(cap: Cap) -> str:
    if cap.unit == GRID:
        times, share = four_digits(cap.demand), "an even share of the multiply-adds"
        return share if times == "1" else f"{times} times {share}"
    each = f"{four_digits(cap.demand)} {cap.counted_in} per {PER_STEP}"
    return f"{each}, {SCHEDULERS} a clock" if cap.unit == ISSUE else each


def _filled(text: str, numbers: Mapping[str, float]) -> str:
    try:
        return text.format(**numbers)
    except (KeyError, IndexError, ValueError) as fault:
        known = ", ".join(sorted(numbers))
        raise LabError(
            f"The text '{text}' cannot be filled in ({fault}). It may name {known}."
        ) from None


def _speed(one: MeasuredBound) -> str:
    return f"{number(one.score.gflops)} {escape(one.kernel.display_name)}"
