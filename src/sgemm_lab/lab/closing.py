"""The closing box of a kernel: what bounds it now, what changed, and why it gained what it did.

Every number comes from ``models.measured_bound``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, TypeAlias

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.closing_box import CUBE, Bars, Box, Rows, peak_of
from sgemm_lab.lab.each_gpu import by_gpu
from sgemm_lab.lab.output import Unavailable, of_gpus, sentence
from sgemm_lab.lab.speeds import find_scores
from sgemm_lab.lab.stalls import (
    NAMES,
    WARP_GROUP_NAMES,
    Parts,
    parts,
    plain,
    time_text,
    waits,
)
from sgemm_lab.models.bound import DATA, GRID, ISSUE, SCHEDULERS, Cap
from sgemm_lab.models.difference import comparison, differ
from sgemm_lab.models.measured_bound import (
    MeasuredBound,
    at_size,
    nearest_ancestor,
    of_ladder,
    parent_of,
    required_ancestor,
)
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import factor_text, four_digits, number, percent, product_texts, size_text

PER_STEP = "multiply-add of a warp"

_HIDDEN = " L1 and shared memory are not counted; they may allow less."
_SAME = 0.003
"""A factor closer to 1 is left out."""
_EXPLAINED = 0.01
"""How near the counted factors must come to the measured one for the rest not to be named."""
_FULL_CLOCK = 0.99
_NEAR = 0.8
"""The share of its limit below which a box says what the warps wait for."""
_UNEVEN = 1.25
"""From this many times its even share of the work on, the busiest SM bounds a kernel."""


Text: TypeAlias = str | Callable[[], str]
"""A text with numbers in braces, or what returns a text."""


class Texts(NamedTuple):
    """What an author says of a step."""

    gap: Text
    why: Text
    estimate: Callable[[], tuple[float, float, str]] | None


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


@dataclass(frozen=True)
class Closing:
    """The content of a closing box. ``before`` is None if no ancestor was measured there."""

    before: MeasuredBound | None
    now: MeasuredBound
    changed: str
    gap: str = ""
    why: str = ""
    estimate: Factor | None = None
    elsewhere: tuple["Closing", ...] = ()
    """The boxes of the same step on other GPUs."""
    here: str = ""
    """What this session measured of the kernel on this machine's GPU; empty where there is none."""

    @property
    def measured(self) -> Factor | None:
        """The speed over the ancestor's speed at the same size."""
        if self.before is None:
            return None
        return Factor(self.now.score.gflops, self.before.score.gflops, "GFLOP/s")

    @property
    def of_bounds(self) -> Factor | None:
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
    def parts(self) -> Parts | None:
        """The factor by the GPU's counters, where issue slots bound both kernels."""
        if self.before is None or {self.before.bound.cap.unit, self.now.bound.cap.unit} != {ISSUE}:
            return None
        return parts(self.before.numbers, self.now.numbers, self.before.record.gpu.sms)

    @property
    def product_text(self) -> str:
        """The factor as a product: "1.37 = 1.23 (higher limit) × 1.11 (closer to it)."

        Where issue slots set both limits, its factors are those that were counted, and the rest
        where it is large. "" without a kernel before, or a second factor.
        """
        if self.before is None or self.of_bounds is None or self.measured is None:
            return ""
        ratio, reached = self.of_bounds.value, self.now.share / self.before.share
        if counted := self.parts:
            factors = {
                "multiply-adds per instruction": counted.instructions,
                "slots filled": counted.slots,
                "SMs at work": counted.sms,
                "clock": counted.clock,
            }
            factors = {said: one for said, one in factors.items() if abs(one - 1) >= _SAME}
            rest = self.measured.value / prod(factors.values())
            if abs(rest - 1) >= _EXPLAINED:
                factors["no counted cause"] = rest
        else:
            was, unit = self.before.bound.unit, self.now.bound.unit
            limit = f"{'higher' if ratio > 1 else 'lower'} limit"
            limit += "" if was == unit else f", now {unit}"
            closer = f"{'closer to' if reached > 1 else 'further from'} it"
            factors = {limit: ratio, closer: reached} if abs(ratio - 1) >= _SAME else {}
        if len(factors) < 2:
            return ""
        product, equals, *texts = product_texts(self.measured.value, *factors.values())
        named = (f"{text} ({said})" for text, said in zip(texts, factors, strict=True))
        return f"{product} {equals} {' × '.join(named)}."

    @property
    def rows(self) -> Rows:
        """What bounded the kernel before, what changed, why it gained that, what was measured."""
        rows = [("What changed", self.changed), ("Measured here", self.here)]
        if self.measured:
            times = self.measured.value
            said = ["" if differ(times) else "About the same.", self.gap]
            said += [] if {"=", "≈"} & set(self.gap.split()) else [self.product_text]
            rows.insert(1, (f"Why {factor_text(times)}×", " ".join(filter(None, said))))
        if self.before:
            lead, reached = f"Limited by {self.before.bound.cap.label}", percent(self.before.share)
            text = f"`{self.before.kernel.display_name}`. {lead}, {reached} reached."
            rows.insert(0, ("Before", text))
        return [(term, text) for term, text in rows if text]

    @property
    def numbers(self) -> Rows:
        """The numbers behind the box, with their divisions."""
        one, cap = self.now, self.now.bound.cap
        rows = [
            ("Limit", _reached(one) + ("" if one.bound.of(DATA) else _HIDDEN)),
            ("Demand", f"{_demand_text(cap)}; {cap.source}."),
            ("A warp's time", time_text(one.numbers, _names(one))),
            *self._factor_rows(),
        ]  # fmt: skip
        return [(term, text) for term, text in rows if text]

    def _factor_rows(self) -> Rows:
        """The ancestor, and the factor over its speed."""
        if not (self.before and self.measured and self.of_bounds):
            parent = parent_of(self.now.kernel)
            return [("Before", f"`{parent.display_name}` was not measured here.")] if parent else []
        old = self.before
        counted = ""
        if self.parts:
            counted = (
                f"{self.parts.all} = {self.parts.product:.3f}; what is missing has no counted "
                "cause. SMs that have a block: the share of the run time in which an SM has one."
            )
        return [
            ("Limit before", f"`{old.kernel.display_name}`: {_reached(old)}"),
            ("Factor", self.measured.text),
            ("Ratio of limits", self.of_bounds.text),
            ("Estimated", self.estimate.text if self.estimate else ""),
            ("By counters", counted),
        ]

    @property
    def bars(self) -> Bars:
        """The speeds, the limit, and the peak of the units that multiply."""
        both = [one for one in (self.before, self.now) if one]
        speeds = [(one.kernel.display_name, one.score.gflops) for one in both]
        units, peak = peak_of(find_gpu(self.now.bound.gpu), self.now.kernel.arithmetic)
        return Bars(speeds, self.now.bound.gflops, peak, units)

    @property
    def box(self) -> Box:
        """The box of this GPU."""
        score, kernel = self.now.score, self.now.kernel
        why = self.why or _losses(self.now)
        lead, rest = _limit(self.now) if why else standing(self.now)
        return Box(
            kernel.display_name,
            score.size,
            (lead, f"{rest} {why}".rstrip()),
            self.rows,
            self.numbers,
            f"Recorded on {score.gpu}, {score.date[:10]}.",
            self.bars,
            self._share,
        )

    @property
    def _share(self) -> str:
        """The share of cuBLAS in the same arithmetic; "" where that was not measured."""
        score, arithmetic = self.now.score, self.now.kernel.arithmetic
        library = score.library_gflops(arithmetic)
        if not library:
            return ""
        same = {"tf32": " in TF32", "fp16": " in FP16"}.get(arithmetic, "")
        return f"{percent(score.gflops / library)} of cuBLAS{same}"

    def _repr_html_(self) -> str:
        boxes = ((one.now.score.gpu, one.box.html()) for one in (self, *self.elsewhere))
        return of_gpus(boxes)

    def __repr__(self) -> str:
        return self.box.text()


def standing(one: MeasuredBound) -> tuple[str, str]:
    """Return a kernel's limit, and the rest of that sentence.

    Far below its limit a second sentence says what its warps wait for most, if that was counted.
    """
    lead, rest = _limit(one)
    waiting = waits(one.numbers, _names(one))
    if one.share < _NEAR and waiting and not _is_uneven(one.bound.cap):
        longest, share = next(iter(waiting.items()))
        rest += f" Warps wait most for {plain(longest)}, {percent(share)} of their time."
    return lead, rest


def _limit(one: MeasuredBound) -> tuple[str, str]:
    cap, rest = one.bound.cap, f", {percent(one.share)} reached."
    if _is_uneven(cap):
        times = four_digits(cap.demand)
        rest += f" Too few blocks: the busiest SM has {times} times the work of an even split."
    return f"Limited by {cap.label}", rest


def _is_uneven(cap: Cap) -> bool:
    return cap.unit == GRID and cap.demand >= _UNEVEN


def _losses(one: MeasuredBound) -> str:
    """How busy tensor cores are, where they ran at a lower clock."""
    full, clock = one.record.gpu.max_clock_mhz, one.clock_mhz
    on_tensor_cores = one.bound.cap.unit == GRID and one.kernel.arithmetic != "fp32"
    if not on_tensor_cores or clock is None or clock > _FULL_CLOCK * full:
        return ""
    busy = percent(one.share * full / clock)
    return f"They multiply in {busy} of the clocks, at {clock:,.0f} of {full:,.0f} MHz."


def _names(one: MeasuredBound) -> Mapping[str, str]:
    """What a kernel's warps wait for, in words."""
    if "wgmmaWait" in one.kernel.source:
        return WARP_GROUP_NAMES
    name = "long_scoreboard"
    return NAMES | ({name: WARP_GROUP_NAMES[name]} if "mbarrierWait" in one.kernel.source else {})


def closing(
    kernel: str | Kernel,
    changed: str = "",
    *,
    gap: Text = "",
    why: Text = "",
    estimate: Callable[[], tuple[float, float, str]] | None = None,
    size: AnySize | None = None,
    against: str | Kernel | None = None,
) -> Closing | Unavailable:
    """Close a kernel: what bounds it now, what changed, why it is that much faster or slower.

    Args:
        changed: what the kernel does differently; by default the line in its head comment.
        gap: why the factor is what it is: one cause, in a sentence or two.
        why: why the kernel does not reach all of its limit, in place of the box's own account of
            its time or of what its warps wait for.
        estimate: returns a quotient of a model that is no bound: two numbers, and what they count.
        size: where the kernel belongs, if that is not 4096³. Its parent is compared there, if it
            was measured.
        against: the kernel to compare with, in place of the parent.

    The texts may name numbers in braces, such as ``{share:.0f}``, ``{issue_active_percent:.0f}`` or
    ``{was_rest:.3f}``: those of ``MeasuredBound.numbers``, and the ancestor's with ``was_``. A text
    with other numbers is a function, called once for each recorded GPU (``session.only``).

    Returns a box for each GPU that measured the kernel and the same ancestor; where none did, one
    that says so.

    Raises:
        LabError: a text names an unknown number, or no ancestor was measured at the same size.
    """

    def box() -> Closing | None:
        return _closing(of, at, changed, Texts(gap, why, estimate), other)

    other = None if against is None else kernel_of(against)
    of, at = kernel_of(kernel), None if size is None else size_of(size)
    first: Closing | None = None
    with session.measured_before():
        for gpu in session.recorded_gpus():
            with session.only(gpu):
                first = first or box()
        if first is None:
            return _open_box(of, at)
        others = [other for gpu, other in by_gpu(box) if gpu != first.now.score.gpu]
    same = [one for one in others if one and _name(one.before) == _name(first.before)]
    here = _measured_here(first.before, first.now)
    return replace(first, elsewhere=tuple(same), here=here)


def _name(one: MeasuredBound | None) -> str:
    return one.kernel.name if one else ""


def _closing(
    kernel: Kernel, at: Size | None, changed: str, texts: Texts, against: Kernel | None
) -> Closing | None:
    """Return the box of the first record that measured a kernel; None if none did."""
    records = session.book_records()
    now = of_ladder(kernel, records) if at is None else at_size(kernel, at, records)
    if now is None:
        return None
    if against:
        before = at_size(against, now.score.size, [now.record])
    else:
        before = required_ancestor(now) if at is None else nearest_ancestor(now)
    numbers = now.numbers
    if before is not None:
        numbers |= {f"was_{name}": value for name, value in before.numbers.items()}
    return Closing(
        before,
        now,
        _filled(changed, numbers) or _change(kernel),
        gap=_filled(texts.gap, numbers),
        why=_filled(texts.why, numbers),
        estimate=Factor(*texts.estimate()) if texts.estimate else None,
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
    rows = [("What changed", _change(kernel))]
    box = Box(kernel.display_name, size or CUBE, ("", ""), rows, [], waiting)
    return Unavailable(box.html(), box.text())


def _change(kernel: Kernel) -> str:
    """What the kernel's own file says that it changes."""
    constants = kernel.name.partition(":")[2]
    if constants:
        return f"Only constants: {constants.replace(',', ', ')}."
    return kernel.change or ""


def _demand_text(cap: Cap) -> str:
    if cap.unit == GRID:
        times, share = four_digits(cap.demand), "an even share of the multiply-adds"
        return share if times == "1" else f"{times} times {share}"
    each = f"{four_digits(cap.demand)} {cap.counted_in} per {PER_STEP}"
    return f"{each}, {SCHEDULERS} a clock" if cap.unit == ISSUE else each


def _filled(given: Text, numbers: Mapping[str, float]) -> str:
    if callable(given):
        try:
            return given()
        except LabError:
            if session.is_narrowed():  # another GPU, which lacks what the text is made of
                return ""
            raise
    text = given
    try:
        return text.format(**numbers)
    except (KeyError, IndexError, ValueError) as fault:
        known = ", ".join(sorted(numbers))
        raise LabError(
            f"The text '{text}' cannot be filled in ({fault}). It may name {known}."
        ) from None


def _reached(one: MeasuredBound) -> str:
    unit, most = one.bound.unit, number(one.bound.gflops)
    name = f"{unit[0].upper()}{unit[1:]}"
    return f"{name}, at most {most} GFLOP/s: {100 * one.share:.1f}% reached."
