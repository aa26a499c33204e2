"""The closing box of a kernel: what bounded its parent, what changed, by how much, what bounds now.

Every number comes from ``models.bound`` and from the book's records. The last line of a box and the
first of the box of a child are made by one function, so they agree to the digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, Unavailable, sentence, table
from sgemm_lab.lab.verdicts import with_code
from sgemm_lab.models.bound import (
    DATA,
    DRAM,
    GRID,
    ISSUE,
    L2,
    LOOKUP,
    SCHEDULERS,
    Bound,
    Cap,
    bound_of,
)
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.models.ladder import ladder as recorded_steps
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import number, percent, size_text, with_spaced_percents
from sgemm_lab.wgsl.programs import all_rungs

PER_STEP = "multiply-add of a warp"

_HUES = {
    DATA: "var(--lab-shared, #b94000)",
    LOOKUP: "var(--lab-shared, #b94000)",
    L2: "var(--lab-l2, #127a55)",
    DRAM: "var(--lab-dram, #163f94)",
}
_LEGEND = (
    "How to read such a box. In the bar, solid is what this kernel adds to the one before it, pale "
    "what that one reached, and the dashed frame ends at the bound. The bound follows from the "
    f"demand: what the kernel asks of one unit of the GPU for each {PER_STEP}, a step. The factor "
    "predicted is the old demand over the new one or, where a unit or rate is another now, the new "
    "bound over the old one. A share is a measured speed over its bound. The factor predicted × "
    "new share ÷ old share is the factor measured."
)
"""Stands in the box of the first kernel."""
_HIDDEN = (
    "What its blocks ask of L1 and shared memory is not counted, so a lower cap may be hidden."
)
_PLAIN = "var(--lab-kernel, #3b4450)"
_LINE = "var(--lab-line, #7d8590)"


class BoundSummary(NamedTuple):
    """A kernel under its bound, at 4096³ or its largest cube, as the ladder shows it.

    Or at a size that its chapter chose.
    """

    score: Score
    """What was measured."""
    record: Record
    bound: Bound

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.bound.kernel

    @property
    def called(self) -> str:
        """The kernel's name as a sentence has it: a thread tile's size in place of constants."""
        return load_kernel(self.name).called

    @property
    def is_whole(self) -> bool:
        """Whether the demands of all units are known, so that no lower cap is hidden."""
        return self.bound.of(DATA) is not None

    @property
    def share(self) -> float:
        """Share of the bound that was reached."""
        return self.bound.share(self.score.gflops)

    @property
    def brief(self) -> str:
        """What bounds the kernel, and how much of that it reaches; without a full stop."""
        unit = self.bound.unit
        return f"{unit[0].upper()}{unit[1:]}, {percent(self.share)} reached"

    @property
    def words(self) -> str:
        """What bounds the kernel, at most how much, and what it reaches; without a full stop."""
        at = "" if self.score.size == _CUBE else f" at {size_text(self.score.size)}"
        unit, cap = self.bound.unit, self.bound.cap
        return (
            f"{unit[0].upper()}{unit[1:]}: {_demand_words(cap)}, at most {number(cap.gflops)} "
            f"GFLOP/s; reached {number(self.score.gflops)}{at}, {percent(self.share)}"
        )


class Factor(NamedTuple):
    """A quotient with its two numbers, as the reader can divide them again."""

    above: float
    below: float
    unit: str
    """What the two count; empty for speeds."""

    @property
    def value(self) -> float:
        """The quotient."""
        return self.above / self.below

    @property
    def words(self) -> str:
        """The division and its result: "2 ÷ 1.625 wavefronts = 1.23"."""
        if not self.unit:
            return f"{number(self.above)} ÷ {number(self.below)} = {self.value:.2f}"
        return f"{_four(self.above)} ÷ {_four(self.below)} {self.unit} = {self.value:.2f}"


class Race(NamedTuple):
    """A kernel and the one before it, at one size."""

    size: Size
    factor: Factor
    shares: tuple[float, float]
    """What each reached of its bound there."""


@dataclass(frozen=True)
class Closing:
    """What the box of a kernel says, at the largest cube that it was measured at, or at one size.

    ``before`` and ``race`` are None for the first kernel, and where none before it was measured.
    """

    before: BoundSummary | None
    now: BoundSummary
    race: Race | None
    changed: str
    gap: str = ""
    why: str = ""
    estimate: Factor | None = None

    @property
    def predicted(self) -> Factor | None:
        """What the demands foretell: their quotient, or where unit or rate changed, the bounds'.

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
        """The four lines: term and sentence. Code stands in backticks."""
        return [
            ("Was bound by", f"{self.before.brief}." if self.before else self._nothing_before),
            ("What changed", with_spaced_percents(self.changed)),
            ("Factor", with_spaced_percents(self._factor_words())),
            ("Bound now by", with_spaced_percents(self._now_words())),
        ]

    @property
    def _nothing_before(self) -> str:
        parent = load_kernel(self.now.name).parent
        if not parent:
            return "No kernel stood before."
        called, size = load_kernel(parent).called, size_text(self.now.score.size)
        return f"Not known: `{called}` was not measured at {size}."

    def _now_words(self) -> str:
        hidden = "" if self.now.is_whole else f" {_HIDDEN}"
        return f"{self.now.words}.{hidden} {self.why}".strip()

    def _factor_words(self) -> str:
        if self.race is None or self.predicted is None:
            return "Nothing to compare with."
        at = "" if self.race.size == _CUBE else f" at {size_text(self.race.size)}"
        said = f"{self.predicted.words} predicted, {self.race.factor.words} measured{at}."
        if self.estimate is not None:
            said += f" An estimate, no bound: {self.estimate.words}."
        old, new = (f"{100 * share:.1f}" for share in self.race.shares)
        said += (
            f" The share of the bound goes from {old} % to {new} %{at}: "
            f"{self.predicted.value:.2f} × {new} ÷ {old} = {self.race.factor.value:.2f}."
        )
        return said + (f" {self.gap}" if self.gap else "")

    @property
    def picture_words(self) -> str:
        """What the bar shows."""
        parts = [self.before, self.now] if self.before else [self.now]
        speeds = [f"{s.called} {number(s.score.gflops)}" for s in parts]
        return f"{', '.join(speeds)}, at most {number(self.now.bound.gflops)} GFLOP/s"

    def _repr_html_(self) -> str:
        first = not load_kernel(self.now.name).parent
        legend = f'<p style="margin:10px 0 0">{escape(_LEGEND)}</p>' if first else ""
        size = self.now.score.size
        program = self.now.name if size == _CUBE and _has_program(self.now.name) else ""
        return box(self.now.called, size, self._bar(), self.rows, self.provenance, legend, program)

    def _bar(self) -> str:
        """The speed on the way to its bound, the parent's as a line across it, and the names."""
        limit = self.now.bound.gflops
        most = max(limit, *(s.score.gflops for s in (self.before, self.now) if s))
        hue = _HUES.get(self.now.bound.cap.unit, _PLAIN)

        def place(gflops: float) -> float:
            return round(1000 * gflops / most, 1)

        now = place(self.now.score.gflops)
        old = place(self.before.score.gflops) if self.before else 0.0
        fixed = 'vector-effect="non-scaling-stroke"'
        gained_from = old if old < now else 0.0
        drawn = (
            f'<rect y="2" width="{place(limit)}" height="20" fill="none" stroke="{hue}" '
            f'stroke-dasharray="4 3" {fixed}/>'
            f'<rect y="2" width="{gained_from}" height="20" fill="{hue}" fill-opacity="0.4"/>'
            f'<rect x="{gained_from}" y="2" width="{now - gained_from:.1f}" height="20" '
            f'fill="{hue}"/>'
        )
        names = ""
        if self.before is not None:
            drawn += f'<path d="M{old} 0V24" stroke="{_LINE}" stroke-width="3" {fixed}/>'
            names = f"<span>{_speed(self.before)}</span><span>→</span>"
        return (
            f'<svg role="img" aria-label="{escape(self.picture_words)}" viewBox="0 0 1000 24" '
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
        if not self.now.is_whole:
            counted = "blocks of the grid, A and B read once"
        return (
            f"Recorded on {score.gpu}, {score.date[:10]}. Demand: {counted}; instructions by the "
            "GPU's counters."
        )

    def __repr__(self) -> str:
        lines = [f"Where {self.now.called} stands: {self.picture_words}"]
        lines += [f"  {term}: {text}" for term, text in self.rows]
        return "\n".join([*lines, self.provenance])


def box(
    name: str,
    size: Size,
    bar: str,
    rows: list[tuple[str, str]],
    provenance: str,
    legend: str = "",
    program: str = "",
) -> str:
    """Return a closing box as HTML: a name, a picture, terms with their sentences, the source.

    Args:
        name: of a kernel, or of what stands in its place.
        size: M, N, K that the box is about.
        bar: HTML of the picture.
        rows: term and sentence; code stands in backticks.
        provenance: where the numbers come from.
        legend: HTML that explains how to read it.
        program: name of the same rung in WGSL, by which a page finds the box; "" where none is.
    """
    lines = "".join(
        '<div style="display:flex;flex-wrap:wrap;gap:0 12px;margin-top:3px">'
        '<dt style="flex:0 0 6.75rem;font-weight:normal;color:var(--lab-muted, #57606a)">'
        f'{term}</dt><dd style="flex:1 1 18rem;margin:0">{with_code(text)}</dd></div>'
        for term, text in rows
    )
    at = "" if size == _CUBE else f" at {size_text(size)}"
    mark = f' data-program="{escape(program)}"' if program else ""
    return (
        f'<section class="lab-closing"{mark} aria-label="Closing box: {escape(name)}" '
        'style="border:1px '
        f'solid {_LINE};border-radius:8px;padding:12px 16px;margin:4px 0">'
        f'<p style="margin:0 0 8px"><strong>Where <code>{escape(name)}</code> stands{at}</strong>'
        f'</p>{bar}<dl style="margin:8px 0 0;font-size:0.92em;line-height:1.5">{lines}</dl>'
        f"{legend}"
        f'<p class="lab-provenance" style="margin:10px 0 0">{escape(provenance)}</p>'
        "</section>"
    )


def _has_program(name: str) -> bool:
    """Return whether WGSL has a kernel too."""
    return any(program.name == name for program in all_rungs())


def closing(
    name: str,
    changed: str = "",
    gap: str = "",
    why: str = "",
    estimate: tuple[float, float, str] | None = None,
    size: Size | None = None,
) -> Closing | Unavailable:
    """Return the closing box of a kernel; see ``lab.closing``.

    Of a kernel that is not yet measured it says so; whoever asks it for a number hears it too.

    Raises:
        LabError: a text asks for an unknown number, or none before the kernel was measured where
            it was.
    """
    kernel = load_kernel(name)
    now = standing(kernel) if size is None else _standing_at(kernel, size)
    if now is None:
        return _open_box(kernel, size)
    before = _before(kernel, now, needed=size is None)
    values = values_of(now, before)
    return Closing(
        before,
        now,
        _race(now, before) if before else None,
        changed=_filled(changed, values) or _change(kernel),
        gap=_filled(gap, values),
        why=_filled(why, values),
        estimate=Factor(*estimate) if estimate else None,
    )


def _open_box(kernel: Kernel, size: Size | None) -> Unavailable:
    """Return the box of a kernel that is not yet measured: what it changes, and what to do."""
    rows = [("What changed", _change(kernel))]
    waiting = _waiting(kernel, size)
    html = box(kernel.called, size or _CUBE, "", rows, waiting)
    said = [f"Where {kernel.called} stands:", *(f"  {term}: {text}" for term, text in rows)]
    return Unavailable(html, "\n".join([*said, waiting]))


def _waiting(kernel: Kernel, size: Size | None = None) -> str:
    return not_yet_measured([kernel.name], f" at {size_text(size)}" if size else "")


def standing(kernel: Kernel) -> BoundSummary | None:
    """Return where a kernel stands by the book's records; None where it is not yet measured.

    Raises:
        LabError: it was measured, and what its blocks ask for cannot be told.
    """
    steps = recorded_steps(session.book_records())
    step = next((step for step in steps if step.kernel.name == kernel.name), None)
    if step is None or step.score is None or step.record is None:
        return None
    limit = step.bound
    if limit is None:
        raise LabError(
            f"What a block of '{kernel.name}' asks for cannot be told, so it has no bound. "
            "Name a size."
        )
    return BoundSummary(step.score, step.record, limit)


def _standing_at(kernel: Kernel, size: Size) -> BoundSummary | None:
    """Return where a kernel stands at one size, by its own records or those of ``matmul``.

    Where what its blocks ask for cannot be told, the bound leaves out what it takes. None where it
    is not yet measured.
    """
    for record in session.book_records():
        gpu = sheet_of(record)
        own = [
            score
            for score in record.scores
            if score.size == size
            and (score.picked or score.kernel, score.fingerprint)
            == (kernel.name, kernel.fingerprint)
        ]
        for score in sorted(own, key=lambda score: bool(score.picked)):
            limit = bound_of(score, gpu, record, partial=True) if gpu else None
            if limit:
                return BoundSummary(score, record, limit)
    return None


def values_of(now: BoundSummary, before: BoundSummary | None) -> dict[str, float]:
    """Return the numbers that a text may name in braces.

    What the GPU counted of the kernel, by its names; ``share`` of the bound and ``speed``;
    ``clocks``, those of an SM per step in the race, and ``rest``, those beyond the demand of the
    unit that binds; and the same of the parent with ``was_`` before.
    """
    found = _values(now)
    if before is not None:
        found |= {f"was_{key}": value for key, value in _values(before).items()}
    return found


def bound_table(name: str) -> "BoundTable | Unavailable":
    """Return the bound of a kernel with the demands of all units; see ``lab.bound``.

    Of a kernel that is not yet measured it says so; whoever asks it for a number hears it too.
    """
    kernel = load_kernel(name)
    found = standing(kernel)
    if found is None:
        return Unavailable(sentence(_waiting(kernel)).html, _waiting(kernel))
    return BoundTable(found)


class BoundTable:
    """What a kernel asks of every unit, and what each unit leaves to it."""

    def __init__(self, standing: BoundSummary) -> None:
        self.bound = standing.bound
        self.gflops = standing.bound.gflops
        self.unit = standing.bound.unit
        self.demand = standing.bound.cap.demand
        self.speed = standing.score.gflops
        self.share = standing.share
        self._standing = standing

    def _table(self) -> Output:
        rows = [
            [
                cap.label + (" (measured rate: an estimate)" if cap.estimate else ""),
                f"{_four(cap.demand)} {cap.counted_in}",
                number(cap.gflops),
                percent(self.speed / cap.gflops),
                cap.source,
            ]
            for cap in (*self.bound.caps, *self.bound.estimates)
        ]
        size = size_text(self.bound.size)
        note = (
            f"{self._standing.name} at {size} on {self.bound.gpu}: {number(self.speed)} GFLOP/s. "
            f"The first line is the bound. Demand per {PER_STEP}, 64 FLOP."
        )
        heads = ["unit", "demand", "GFLOP/s at most", "reached", "demand by"]
        return table(heads, rows, note=note)

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text


_CUBE: Size = (SIZE, SIZE, SIZE)


def _parent(kernel: Kernel) -> Kernel | None:
    """The kernel to compare with: for a variant the one with the book's constants."""
    base, _, constants = kernel.name.partition(":")
    if constants:
        return load_kernel(base)
    return load_kernel(kernel.parent) if kernel.parent else None


def _before(kernel: Kernel, now: BoundSummary, *, needed: bool) -> BoundSummary | None:
    """The nearest forebear that was measured at the kernel's size, so a box has one size.

    Raises:
        LabError: one is needed, there are forebears, and none was measured there.
    """
    forebear = _parent(kernel)
    while forebear is not None:
        score = now.record.score(forebear, now.score.size)
        gpu = sheet_of(now.record)
        limit = bound_of(score, gpu, now.record) if score and gpu else None
        if score and limit:
            return BoundSummary(score, now.record, limit)
        forebear = _parent(forebear)
    if _parent(kernel) is None or not needed:
        return None
    raise LabError(
        f"No kernel before '{kernel.name}' was measured at {size_text(now.score.size)}, as it "
        "was. Record one at that size."
    )


def _change(kernel: Kernel) -> str:
    """What the kernel's own file says that it changes."""
    constants = kernel.name.partition(":")[2]
    if constants:
        return f"Constants alone: {constants.replace(',', ', ')}."
    return kernel.change or "It is the first kernel."


def _race(now: BoundSummary, before: BoundSummary) -> Race:
    factor = Factor(now.score.gflops, before.score.gflops, "")
    return Race(now.score.size, factor, (before.share, now.share))


def _values(standing: BoundSummary) -> dict[str, float]:
    score = standing.score
    entry = standing.record.counted(load_kernel(standing.name), score.size)
    found = dict(entry.values) if entry else {}
    found |= {"share": 100 * standing.share, "speed": score.gflops}
    instructions, cap = standing.bound.of(ISSUE), standing.bound.cap
    if instructions is not None:
        found["instructions"] = instructions.demand
    found["clocks"] = cap.clocks / standing.share
    found["rest"] = found["clocks"] - cap.clocks
    return found


def _filled(text: str, values: Mapping[str, float]) -> str:
    try:
        return text.format(**values)
    except (KeyError, IndexError, ValueError) as fault:
        known = ", ".join(sorted(values))
        raise LabError(
            f"The text '{text}' cannot be filled in ({fault}). It may name {known}."
        ) from None


def _demand_words(cap: Cap) -> str:
    if cap.unit == GRID:
        times, share = _four(cap.demand), "an even share of the multiply-adds"
        return share if times == "1" else f"{times} times {share}"
    each = f"{_four(cap.demand)} {cap.counted_in} per {PER_STEP}"
    return f"{each}, {SCHEDULERS} a clock" if cap.unit == ISSUE else each


def _speed(standing: BoundSummary) -> str:
    return f"{number(standing.score.gflops)} {escape(standing.called)}"


def _four(value: float) -> str:
    """Four digits, so that the reader's own division gives the same three."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
