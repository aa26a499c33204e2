"""The closing box of every kernel: four lines that follow from records and counts, and a bar."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import escape

import pytest
from ladder_samples import MEASURED, WITHOUT_A_DEMAND
from record_samples import record, run, samples

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.closing import Closing
from sgemm_lab.records.gpu_record import Measurement
from sgemm_lab.records.store import not_yet_measured

NAMES = [
    kernel.name
    for kernel in load_kernels(variants=True)
    if kernel.base_name not in WITHOUT_A_DEMAND and kernel.name in MEASURED
]
CHANGED = "Two letters."
DIVISION = re.compile(r"([\d.,]+) ÷ ([\d.,]+) (?:[a-zA-Z/ ]+ )?= ([\d,.]+)$")


def lines(box: Closing) -> dict[str, str]:
    return dict(box.rows)


def value(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "naive_rows"])
@pytest.mark.sampled(every=5)
def test_a_reader_can_divide_the_factor_again(name: str) -> None:
    box = lab.closing(name, CHANGED)
    folded = dict(box.arithmetic)
    for term, factor in (("Predicted", box.predicted), ("Measured", box.measured)):
        assert factor is not None
        found = DIVISION.search(folded[term])
        assert found is not None
        above, below, quotient = map(value, found.groups())
        # Quotients have two decimals, or three near 1.
        assert above / below == pytest.approx(quotient, rel=0.006, abs=0.0051)
        assert quotient == pytest.approx(factor.value, abs=0.0051)
        assert found[3] in lines(box)["Factor"]


def test_the_first_kernel_has_nothing_before_it() -> None:
    box = lab.closing("naive_rows", CHANGED)
    assert lines(box)["Was bound by"] == "No kernel stood before."
    assert lines(box)["Factor"] == "Nothing to compare with."
    assert "→" not in box._repr_html_()
    assert "How to read such a box." in box._repr_html_()
    assert "How to read" not in lab.closing("naive", CHANGED)._repr_html_()


def test_where_the_unit_changes_the_bounds_are_divided() -> None:
    box = lab.closing("split", CHANGED)
    parent, child = lab.bound("float4_tile"), lab.bound("split")
    assert parent.unit != child.unit
    divided = f"{child.gflops:,.0f} ÷ {parent.gflops:,.0f} GFLOP/s"
    assert dict(box.arithmetic)["Predicted"].startswith(divided)


def test_where_tensor_cores_change_their_rate_the_bounds_are_divided() -> None:
    """The unit and its demand stay, and each product of the child is three."""
    box = lab.closing("wgmma_3xfp16", CHANGED)
    parent, child = lab.bound("wgmma_fp16"), lab.bound("wgmma_3xfp16")
    assert (parent.unit, parent.demand) == (child.unit, child.demand)
    divided = f"{child.gflops:,.0f} ÷ {parent.gflops:,.0f} GFLOP/s = 0.33"
    assert dict(box.arithmetic)["Predicted"] == divided
    assert "; 0.33 predicted." in lines(box)["Factor"]


def test_a_kernel_that_ends_at_a_smaller_cube_meets_its_parent_there() -> None:
    box = lab.closing("strip", CHANGED)
    assert box.before is not None
    assert box.before.score.gflops == lab.speed("tiled", 512)
    assert " GFLOP/s at 512³: " in lines(box)["Bound now by"]


def test_texts_take_what_was_counted() -> None:
    box = lab.closing(
        "double_buffer",
        "The next window.",
        gap="Beyond its demand it took {was_rest:.3f} clocks, now {rest:.3f}.",
        why="Schedulers start something in {issue_active_percent:.1f} % of the clocks.",
    )
    said = lines(box)
    was, now = map(float, re.findall(r"(0\.\d+) clocks, now (0\.\d+)", said["Factor"])[0])
    assert now < was
    counted = session.book_records()[0].launches(load_kernel("double_buffer"))[4096, 4096, 4096]
    active = f"{counted.values['issue_active_percent']:.1f}"
    assert said["Ceiling now"].endswith(f"something in {active} % of the clocks.")


def test_an_estimate_stands_in_place_of_the_prediction() -> None:
    box = lab.closing("double_buffer", CHANGED, estimate=(5, 4, "clocks"))
    assert lines(box)["Factor"].endswith("times as fast; 1.25 estimated.")
    folded = dict(box.arithmetic)
    assert folded["Estimated"] == "5 ÷ 4 clocks = 1.25"
    assert "Predicted" not in folded


@pytest.mark.parametrize("name", ["sliding_window", "split"])
def test_a_kernel_far_below_its_bound_is_not_called_bound(name: str) -> None:
    box = lab.closing(name, CHANGED)
    assert ("Bound now by" in lines(box)) == (box.now.share >= 0.8)
    assert ("Ceiling now" in lines(box)) == (box.now.share < 0.8)
    assert box.before is not None
    assert ("Ceiling before" in lines(box)) == (box.before.share < 0.8)


def test_a_ceiling_comes_with_what_the_warps_wait_for() -> None:
    split, tiled = lab.closing("split", CHANGED), lab.closing("tiled", CHANGED)
    waits = lab.hardware("split").waiting("long_scoreboard")
    assert lines(split)["Waits for"].startswith(f"global memory {100 * waits:.0f} %, shared memory")
    before = lab.hardware("float4_tile").waiting("short_scoreboard")
    assert f"waited: shared memory {100 * before:.0f} %" in lines(split)["Ceiling before"]
    assert "Waits for" not in lines(tiled)


@pytest.mark.parametrize("name", ["unrolled", "column_order", "producers", "stream_k"])
def test_the_counters_divide_the_factor_into_three(name: str) -> None:
    box = lab.closing(name, CHANGED)
    assert box.measured is not None
    *parts, product = map(float, re.findall(r"\d\.\d{3}", lines(box)["By counters"]))
    assert len(parts) == 3
    assert product == pytest.approx(box.measured.value, rel=0.01)


def test_where_another_unit_bounds_the_counters_divide_nothing() -> None:
    assert "By counters" not in lines(lab.closing("split", CHANGED))


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


@pytest.mark.parametrize("text", ["{nonsense}", "{", "{0}"])
def test_a_text_that_cannot_be_filled_in_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(LabError, match=r"cannot be filled in .* It may name .*clocks.*was_share"):
        lab.closing("tiled", CHANGED, why=text)


def bars(box: Closing) -> tuple[list[float], str | None]:
    picture = re.search(r"<svg.*?</svg>", box._repr_html_(), re.DOTALL)
    assert picture is not None
    root = ET.fromstring(picture[0])
    assert root.get("role") == "img"
    return [float(rect.get("width", "")) for rect in root.iter("rect")], root.get("aria-label")


def test_a_box_may_stand_at_the_size_where_its_kernel_is_at_home() -> None:
    box = lab.closing("one_row", size=(1, 4096, 4096))
    assert "stands at 1×4096×4096<" in box._repr_html_()
    assert lines(box)["Ceiling before"].startswith("DRAM, ")
    assert box.measured is not None
    assert box.measured.below == lab.speed("naive", (1, 4096, 4096))
    assert "How to read such a box." not in box._repr_html_()


def test_a_demand_that_cannot_be_told_leaves_a_bound_that_says_so() -> None:
    box = lab.closing("cluster_split", size=256)
    # Two blocks for each tile where there was one: twice as many SMs have work.
    assert box.predicted is not None
    assert box.predicted.value == 2
    assert lines(box)["Ceiling now"].endswith("so a lower cap may be hidden.")
    assert "blocks of the grid" in box.provenance
    assert box.now.share < 1


def test_the_busiest_sm_is_told_by_its_share_of_the_work() -> None:
    split = lab.closing("cluster_split", size=256)
    folded = dict(split.arithmetic)
    assert folded["Predicted"] == "8.25 ÷ 4.125 even shares = 2.00"
    assert folded["Demand"] == "4.125 times an even share of the multiply-adds"
    assert lines(split)["Ceiling now"].startswith("Arithmetic of the SM with the most blocks, ")


def test_a_kernel_whose_parents_were_elsewhere_has_no_factor_at_its_size() -> None:
    box = lab.closing("split_k", size=(64, 64, 262144))
    assert box.now.kernel.name == "split_k"
    assert lines(box)["Was bound by"].startswith("Not known: ")
    assert lines(box)["Factor"] == "Nothing to compare with."


def test_at_a_size_that_was_not_recorded_a_box_says_so() -> None:
    said = not_yet_measured(["one_row"], " at 7³")
    box = lab.closing("one_row", size=7)
    assert repr(box).endswith(f"\n{said}")
    assert "stands at 7³<" in box._repr_html_()
    with pytest.raises(LabError, match=re.escape(said)):
        _ = box.now


def test_what_a_block_asks_for_must_be_told_where_no_size_is_named() -> None:
    with pytest.raises(LabError, match="The demand of a block of 'split_k' is not known"):
        lab.closing("split_k")


def test_the_bar_runs_from_old_to_new_to_the_bound() -> None:
    box, old, new = lab.closing("tiled", CHANGED), lab.bound("naive"), lab.bound("tiled")
    (limit, before, gain), said = bars(box)
    assert limit == 1000
    assert before == pytest.approx(1000 * old.speed / new.gflops, abs=0.1)
    assert before + gain == pytest.approx(1000 * new.share, abs=0.1)
    assert said == (
        f"naive {old.speed:,.0f}, tiled {new.speed:,.0f}, at most {new.gflops:,.0f} GFLOP/s"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(every=5, first=2)
def test_no_bar_is_longer_than_the_box(name: str) -> None:
    widths, _ = bars(lab.closing(name, CHANGED))
    assert all(0 <= width <= 1000 for width in widths)


def test_the_bar_of_a_slower_child_shows_what_is_lost() -> None:
    box = lab.closing("float4_by_row", CHANGED)
    old, new = lab.bound("sliding_window"), lab.bound("float4_by_row")
    (_, kept, gained, lost), _ = bars(box)
    assert kept == pytest.approx(1000 * new.share, abs=0.1)
    assert gained == 0
    assert lost == pytest.approx(1000 * (old.speed - new.speed) / new.gflops, abs=0.2)


def test_a_box_is_text_too_and_marks_code() -> None:
    box = lab.closing("tiled", "It fills `As` <first>.")
    assert "It fills <code>As</code> &lt;first&gt;." in box._repr_html_()
    said = repr(box)
    assert said.startswith("Where tiled stands: naive")
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


def test_kernels_that_never_met_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(name: str, size: int) -> Measurement:
        return replace(samples(name, 1.0, size=size), fingerprint=load_kernel(name).fingerprint)

    never = record(
        run(
            taken("naive", 1024),
            taken("tiled", 2048),
            samples("cublas", 1.0, size=1024),
            samples("cublas", 1.0, size=2048),
        )
    )
    monkeypatch.setattr(session, "book_records", lambda: [never])
    with pytest.raises(LabError, match="No kernel before 'tiled' was measured at 2048³"):
        lab.closing("tiled", CHANGED)


def test_a_box_states_the_speed_and_bound_on_the_other_gpu() -> None:
    now = lab.closing("one_row", CHANGED, size=4096)
    other = lines(now)["Other GPU"]
    assert other.startswith("NVIDIA H100 80GB HBM3: ")
    assert "% slower" in other  # its DRAM and its L2 are slower and smaller


def test_a_factor_within_two_percent_is_no_difference() -> None:
    boxes = [lab.closing(name, CHANGED) for name in NAMES if name != "naive_rows"]
    for box in boxes:
        assert box.measured is not None
        said = lines(box)["Factor"].startswith("No difference")
        assert said == (abs(box.measured.value - 1) < 0.02)
