"""The closing box of every kernel: what it says follows from records and counts."""

import re
from dataclasses import replace
from html import escape
from math import prod

import pytest
from ladder_samples import MEASURED, WITHOUT_A_DEMAND
from record_samples import record, run, samples

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.counters import STALL_REASONS
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize
from sgemm_lab.lab.closing import Closing
from sgemm_lab.lab.stalls import NAMES as NAMES_OF_WAITS
from sgemm_lab.lab.stalls import plain
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import factor_text

NAMES = [
    kernel.name
    for kernel in load_kernels(variants=True)
    if kernel.base_name not in WITHOUT_A_DEMAND and kernel.name in MEASURED
]
CHANGED = "Two letters."
DIVISION = re.compile(r"([\d.,]+) ÷ ([\d.,]+) (?:[a-zA-Z/ ]+ )?= ([\d,.]+\d)")


def lines(box: Closing) -> dict[str, str]:
    return dict([*box.rows, *box.numbers])


def value(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "naive_rows"])
@pytest.mark.sampled(every=5)
def test_a_reader_can_divide_the_factor_again(name: str) -> None:
    box = lab.closing(name, CHANGED)
    for term, factor in (("Ratio of limits", box.of_bounds), ("Factor", box.measured)):
        assert factor is not None
        found = DIVISION.match(lines(box)[term])
        assert found is not None
        above, below, quotient = map(value, found.groups())
        # Quotients have two decimals, or three near 1.
        assert above / below == pytest.approx(quotient, rel=0.006, abs=0.0051)
        assert quotient == pytest.approx(factor.value, rel=0.004, abs=0.0051)
    assert f"Why {found[3]}×" in lines(lab.closing(name, gap="A reason."))


def test_the_first_kernel_has_nothing_before_it() -> None:
    box = lab.closing("naive_rows", CHANGED)
    assert not {"Before", "Limit before", "Factor", "Ratio of limits"} & {*lines(box)}
    assert box.box.bound == ("Limited by L1", f", {100 * box.now.share:.0f} % reached.")


def test_where_the_unit_changes_the_bounds_are_divided() -> None:
    box = lab.closing("split", CHANGED)
    parent, child = lab.bound("float4_tile"), lab.bound("split")
    assert parent.unit != child.unit
    divided = f"{child.gflops:,.0f} ÷ {parent.gflops:,.0f} GFLOP/s"
    assert lines(box)["Ratio of limits"].startswith(divided)


def test_a_kernel_that_ends_at_a_smaller_cube_meets_its_parent_there() -> None:
    box = lab.closing("strip", CHANGED)
    assert box.before is not None
    assert box.before.score.gflops == lab.speed("tiled", 512)
    assert "stands at 512³: " in box._repr_html_()


def test_a_kernel_below_its_bound_names_its_longest_wait_and_its_share() -> None:
    found = lab.hardware("split")
    ready = ("selected", "not_selected")
    waiting = {r: found.waiting(r) for r in STALL_REASONS if r not in ready}
    longest = max(waiting, key=lambda reason: waiting[reason])
    share = 100 * waiting[longest]
    lead, rest = lab.closing("split", CHANGED).box.bound
    assert lead == "Limited by issue slots"
    wait = f"Warps wait most for {plain(NAMES_OF_WAITS[longest])}, {share:.0f} % of their time."
    assert rest.endswith(f" reached. {wait}")
    said = f"{share:.0f} % for {NAMES_OF_WAITS[longest]}"
    assert said in lines(lab.closing("split"))["A warp's time"]
    assert "arps wait" not in "".join(lab.closing("tiled", CHANGED).box.bound)
    assert lab.closing("split", why="Power.").box.bound[1].endswith(" Power.")


@pytest.mark.parametrize("name", ["naive", "split", "stream_k", "promoted"])
def test_a_warps_time_adds_up(name: str) -> None:
    text = lines(lab.closing(name, CHANGED))["A warp's time"]
    assert sum(map(float, re.findall(r"([\d.]+) %", text))) == pytest.approx(100, abs=2.5)


AT_OTHER_SIZES: list[tuple[str, AnySize]] = [
    ("small_tile", 256),
    ("cluster_split", 256),
    ("one_row", (1, 4096, 4096)),
    ("one_column", (16384, 1, 16384)),
    ("thin_k", (4096, 4096, 1)),
]


@pytest.mark.parametrize(
    ("name", "size"), [*((name, None) for name in NAMES if name != "naive_rows"), *AT_OTHER_SIZES]
)
def test_what_a_box_prints_multiplies_to_its_factor(name: str, size: AnySize | None) -> None:
    """On every GPU, to the rounding of the numbers."""
    box = lab.closing(name, CHANGED, size=size, gap="A reason.")
    for one in (box, *box.elsewhere):
        assert one.measured is not None
        text = one.product_text
        heading = next(float(term[4:-1]) for term, _ in one.rows if term.startswith("Why "))
        if text:
            product, *factors = re.findall(r"(?:^|[=≈×] )([\d.]+)", text)
            assert float(product) == heading
            assert (factor_text(prod(map(float, factors))) == product) == ("=" in text)
            assert prod(map(float, factors)) == pytest.approx(heading, rel=0.012), text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("naive", "(higher limit) × "),
        ("sliding_window", ""),
        ("split", " limit, now "),
        ("double_buffer", "multiply-adds per instruction) × "),
    ],
)
def test_the_product_of_a_box_names_its_factors(name: str, words: str) -> None:
    text = lab.closing(name, CHANGED).product_text
    assert words in text
    assert bool(words) == bool(text)


@pytest.mark.parametrize("name", ["unrolled", "column_order", "producers", "stream_k"])
def test_the_counters_and_the_clock_divide_the_factor(name: str) -> None:
    box = lab.closing(name, CHANGED)
    assert box.measured is not None
    counted = lines(box)["By counters"]
    *parts, product = map(float, re.findall(r"\d\.\d{3}", counted))
    assert len(parts) == 3 + ("by the clock" in counted)  # left out where both ran at the same
    assert prod(parts) == pytest.approx(product, abs=0.002)
    assert product == pytest.approx(box.measured.value, rel=0.01)


def test_clocks_fit_the_share_that_the_race_reached() -> None:
    text = "{instructions} {clocks} {rest} {share} {speed}"
    said = lines(lab.closing("tiled", text))["What changed"]
    instructions, clocks, rest, share, speed = map(float, said.split())
    one = lab.bound("tiled")
    issue = one.bound.of("issue")
    assert issue is not None
    assert instructions == issue.demand
    assert clocks == pytest.approx(one.demand / one.share)  # a wavefront takes a clock
    assert rest == pytest.approx(clocks - one.demand)
    assert (share, speed) == (100 * one.share, one.speed)


def test_where_blocks_are_few_the_busiest_sm_bounds() -> None:
    box = lab.closing("cluster_split", size=256)
    # Two blocks for each tile where there was one: twice as many SMs have work.
    assert box.of_bounds is not None
    assert box.of_bounds.value == 2
    assert lines(box)["Ratio of limits"].startswith("8.25 ÷ 4.125 even shares = 2.00")
    assert lines(box)["Demand"].startswith("4.125 times an even share of the multiply-adds")
    assert "not counted; they may allow less" in lines(box)["Limit"]
    what, rest = box.box.bound
    assert what == "Limited by arithmetic of the busiest SM"
    assert "Too few blocks: the busiest SM has 4.125 times the work of an even split" in rest


def test_an_author_who_says_where_all_time_goes_replaces_the_account() -> None:
    rest = lab.closing("wgmma_fp16", why="All of it.").box.bound[1]
    assert rest.endswith(" reached. All of it.")
    box = lab.closing("wgmma_fp16")
    assert "multiply in" in box.box.bound[1]


@pytest.mark.parametrize(
    ("name", "size", "units"),
    [
        ("tiled", None, "FP32 units"),
        ("cluster_split", 256, "FP32 units"),
        ("mma_tf32", None, "tensor cores in TF32"),
        ("wgmma_3xfp16", None, "tensor cores in FP16"),  # its parent is above its limit
    ],
)
def test_every_scale_ends_at_the_peak_of_the_units_that_multiply(
    name: str, size: int | None, units: str
) -> None:
    box = lab.closing(name, size=size)
    bars = box.bars
    assert f"peak of {units} {bars.peak:,.0f} GFLOP/s" in repr(box)
    assert bars.bound < bars.peak
    assert all(speed < bars.peak for _, speed in bars.speeds)


def test_a_box_says_its_kernels_share_of_cublas_in_the_same_arithmetic() -> None:
    title = repr(lab.closing("tiled")).partition(".")[0]
    score = lab.closing("tiled").now.score
    assert title == f"Where tiled stands: {100 * score.share:.0f} % of cuBLAS"
    assert " % of cuBLAS in FP16." in repr(lab.closing("wgmma_fp16"))


def test_at_a_size_that_was_not_recorded_a_box_says_so() -> None:
    said = not_yet_measured(["one_row"], " at 7³")
    box = lab.closing("one_row", size=7)
    assert repr(box).endswith(f"\n{said}")
    assert "stands at 7³<" in box._repr_html_()
    with pytest.raises(LabError, match=re.escape(said)):
        _ = box.now


def test_a_box_is_text_too_and_marks_code() -> None:
    box = lab.closing("tiled", "It fills `As` <first>.")
    assert "It fills <code>As</code> &lt;first&gt;." in box._repr_html_()
    said = repr(box)
    assert said.startswith("Where tiled stands: 17 % of cuBLAS. naive")
    assert "Limited by shared memory, " in said
    assert ", limit 10," in said
    assert all(f"{term}: " in said for term in lines(box))
    assert "Recorded on NVIDIA H200" in said
    assert 'aria-label="Closing box: tiled"' in box._repr_html_()


def test_a_kernel_that_changed_since_it_was_recorded_is_not_yet_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = record(
        run(
            samples("tiled", 4.0, size=4096, fingerprint="of other code"),
            samples("naive", 4.0, size=4096),
            samples("cublas", 1.0, size=4096),
        )
    )
    monkeypatch.setattr(session, "book_records", lambda: [other])
    said, box = not_yet_measured(["tiled"]), lab.closing("tiled", CHANGED, why="{share:.1f}")
    assert f"What changed: {load_kernel('tiled').change}\n{said}" in repr(box)
    assert escape(said) in box._repr_html_()
    assert 'aria-label="Closing box: tiled"' in box._repr_html_()
    assert repr(lab.bound("tiled")) == said
    for unmeasured in (box, lab.bound("tiled")):
        with pytest.raises(LabError, match=re.escape(said)):
            _ = unmeasured.gflops


def test_texts_are_filled_with_the_numbers_of_each_gpu() -> None:
    box = lab.closing(
        "one_row",
        gap=lambda: f"DRAM copies {lab.card().bandwidth['copy']:,.0f} GB/s.",
        why="{share:.1f} %.",
        size=4096,
    )
    (other,) = box.elsewhere
    assert (box.now.score.gpu, other.now.score.gpu) == ("NVIDIA H200", "NVIDIA H100 80GB HBM3")
    assert [one.why for one in (box, other)] == [
        f"{100 * one.now.share:.1f} %." for one in (box, other)
    ]
    speeds = [float(one.gap.split()[2].replace(",", "")) for one in (box, other)]
    assert speeds[1] < 0.8 * speeds[0]  # its DRAM is slower


def test_texts_of_a_box_quote_the_record_though_this_machine_measured_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = replace(samples("split", 1.0, size=4096), fingerprint=load_kernel("split").fingerprint)
    monkeypatch.setattr(session, "_here", [record(run(samples("cublas", 1.0, size=4096), own))])
    assert lab.speed("split") == own.gflops
    box = lab.closing("split", gap=lambda: f"{lab.speed('split'):.0f}")
    for one in (box, *box.elsewhere):
        assert one.gap == f"{one.now.score.gflops:.0f}"


def test_a_factor_within_two_percent_is_no_difference() -> None:
    boxes = [lab.closing(name, CHANGED, gap="A reason.") for name in NAMES if name != "naive_rows"]
    for box in boxes:
        assert box.measured is not None
        why = next(text for term, text in box.rows if term.startswith("Why"))
        assert why.startswith("About the same") == (abs(box.measured.value - 1) < 0.02)
