"""The drawings show what kernels do: what a thread, a warp or a block reads and owns."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.lab.pictures.banks import bank_clocks, half_warps
from sgemm_lab.lab.pictures.copy_paths import Copies, copy_counts, copy_path
from sgemm_lab.lab.pictures.copying import copied_by, copies
from sgemm_lab.lab.pictures.fragment_map import fragment_map
from sgemm_lab.lab.pictures.frame import PANEL_WIDTH, figure, panel, words
from sgemm_lab.lab.pictures.issue_slots import slots_panel
from sgemm_lab.lab.pictures.l1_queue import l1_queue, wavefronts
from sgemm_lab.lab.pictures.lane_columns import lane_columns
from sgemm_lab.lab.pictures.matrices import reading, reads
from sgemm_lab.lab.pictures.ownership import one_element, owns
from sgemm_lab.lab.pictures.ring import ring_panel
from sgemm_lab.lab.pictures.stream_k import WINDOWS, Piece, k_split, shares_of
from sgemm_lab.lab.pictures.time_bars import time_bars
from sgemm_lab.simulator.formulas import Pipeline


@pytest.mark.parametrize(
    ("name", "owned"), [("thread_tile", 16), ("register_cache", 16), ("split", 64)]
)
def test_who_owns_what_is_drawn_of_a_block_of_few_warps_too(name: str, owned: int) -> None:
    said = owns("Who", load_kernel(name)).text
    assert f"In '{name}' a thread owns {owned} elements of C, a warp {32 * owned:,}" in said


def test_a_warp_of_naive_rows_takes_33_clocks_of_l1_and_one_of_naive_2() -> None:
    rows = reading(load_kernel("naive_rows"), (64, 32, 16), "warp", step=6)
    columns = reading(load_kernel("naive"), (32, 64, 16), "warp", step=6)
    assert rows.owned == {(row, 0) for row in range(32)}
    assert columns.owned == {(0, column) for column in range(32)}
    assert not rows.copied
    assert wavefronts(rows) == {"A": 32 * [{6}], "B": [{0}]}
    assert wavefronts(columns) == {"A": [{6}], "B": [set(range(32))]}
    for name, found in (("naive_rows", rows), ("naive", columns)):
        assert sum(map(len, wavefronts(found).values())) == round(lab.bound(name).demand)


def test_a_thread_of_naive_reads_a_row_of_a_and_a_column_of_b() -> None:
    found = reading(load_kernel("naive"), (32, 64, 16), "thread", number=70, step=3)
    ((row, column),) = found.owned
    assert found.fetched["A"] == {(row, k) for k in range(16)}
    assert found.fetched["B"] == {(k, column) for k in range(16)}
    assert found.used == {"A": {(row, 3)}, "B": {(3, column)}}


def test_a_warp_of_tiled_reads_copies_of_the_whole_tile() -> None:
    found = reading(load_kernel("tiled"), (32, 32, 64), "warp", number=10, step=6)
    assert found.copied
    assert found.used == {"A": {(10, 6)}, "B": {(6, column) for column in range(32)}}
    assert found.fetched["A"] == {(row, k) for row in range(32) for k in range(32)}


def test_a_transposed_copy_is_drawn_where_it_came_from() -> None:
    found = reading(load_kernel("split"), (128, 128, 8), "thread", number=17, step=5)
    rows = {row for row, _ in found.owned}
    assert found.used["A"] == {(row, 5) for row in rows}
    assert rows == {4, 5, 6, 7, 68, 69, 70, 71}
    assert found.used["B"] == {(5, column) for _, column in found.owned}


def test_a_second_buffer_does_not_blur_the_first_window() -> None:
    found = reading(load_kernel("double_buffer"), (128, 128, 16), "warp", number=2, step=2)
    assert len(found.used["A"]) == 16
    assert {k for _, k in found.used["A"]} == {2}


def test_a_float4_of_each_lane_copies_two_rows_and_one_number_of_each_lane_half_a_row() -> None:
    lanes = {
        name: copied_by(warp_requests(load_kernel(name), (32, 32, 64), space="global")[0])
        for name in ("sliding_window", "float4_by_row", "float4")
    }
    assert lanes["sliding_window"] == [{(0, k)} for k in range(32)]
    assert lanes["float4_by_row"] == [{(0, 4 * i + j) for j in range(4)} for i in range(16)]
    every = {(row, k) for row in range(2) for k in range(64)}
    assert set().union(*lanes["float4"]) == every
    assert len(lanes["float4"]) == 32


PANELS: dict[str, Callable[[], Any]] = {
    "one block": lambda: reads("One block", "tiled", (32, 32, 32), "block", step=9),
    "one warp": lambda: l1_queue(
        "One warp", "naive", (32, 64, 16), step=6, says="**{clocks}** clocks"
    ),
    "one number": lambda: one_element("One number", [2, 0, 1, 3], [1, 3, 2, 4], 2),
    "owners": lambda: owns("Who owns what", load_kernel("tiled")),
    "one load": lambda: copies("One load", load_kernel("float4"), says="**128** numbers"),
    "a vector": lambda: copies("A vector", load_kernel("one_column"), size=(16, 1, 128)),
    "a fragment": lambda: fragment_map("mma_tf32"),
    "clocks of a read": lambda: bank_clocks("A read", load_kernel("register_cache"), "fragA["),
    "two half-warps": lambda: half_warps("As", load_kernel("tiled"), "As", says="**{waves}**"),
    "lanes in a row": lambda: lane_columns("Lanes", load_kernel("split")),
    "three stages": lambda: ring_panel("Three stages", Pipeline(281, 754, 4096, 8, 3), 4),
    "issue slots": lambda: slots_panel("Issue slots", {"one": (0.67, 0.8), "two": (0.6, 0.9)}),
    "time bars": lambda: time_bars("Clocks", {"now": [("read", 90), ("wait", 10)]}),
    "past registers": lambda: copy_path(
        "Past registers", load_kernel("async_copy"), says="**No** register"
    ),
    "through registers": lambda: copy_path("Through registers", load_kernel("column_order")),
    "tiles at once": lambda: lab.tiles_at_once("Tiles", "wgmma_tf32", 4096, 132),
    "even shares": lambda: k_split("Even shares", load_kernel("stream_k"), tiles=4, sms=3),
}


@cache
def drawn(name: str) -> Any:
    return PANELS[name]()


def test_the_bars_of_issue_slots_are_whole_and_follow_the_counters() -> None:
    picture = lab.issue_slots("Slots", "unrolled")
    found = lab.hardware("unrolled")
    shares = [float(share) for share in re.findall(r"([\d.]+) %", picture.text)]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert shares[2] == pytest.approx(100 * (1 - lab.bound("unrolled").share), abs=0.5)
    assert shares[2] > 100 * (1 - found.issue_active)
    assert shares[0] / shares[1] > 5
    widths = [float(x) for x in re.findall(r'width="([\d.]+)" height="22"', picture.html)]
    assert sum(widths) == pytest.approx(PANEL_WIDTH * sum(shares[:2]) / 100, abs=4)


@pytest.mark.parametrize("name", PANELS)
def test_every_drawing_is_well_formed_described_and_as_wide_as_a_phone(name: str) -> None:
    html = drawn(name)._repr_html_()
    picture = ET.fromstring(re.search(r"<svg.*</svg>", html, re.S)[0])  # type: ignore[index]
    assert picture.get("role") == "img"
    assert len(picture.get("aria-label", "")) > 20
    assert float(picture.get("width", "0")) <= PANEL_WIDTH
    sizes = [float(text.get("font-size", "0")) for text in picture.iter("text")]
    assert all(size >= 12 for size in sizes)


def test_lanes_whose_words_lie_in_different_banks_share_a_wavefront() -> None:
    assert "takes 1 wavefront, and one of the warp 4 wavefronts" in drawn("lanes in a row").text
    neighbours = lane_columns("Lanes", load_kernel("float4_tile"), says="{some}, {every}")
    assert "takes 2 wavefronts, and one of the warp 8 wavefronts" in neighbours.text
    assert "brings lanes 0–15 words 0, 1, 2, 3, wavefront 2" in drawn("clocks of a read").text
    column = bank_clocks("A read", load_kernel("transposed"), "fragA[")
    assert "2 brings lanes 16–31 words 8, 9, 10, 11." in column.text


def test_a_window_is_carried_by_registers_or_goes_past_them() -> None:
    assert copy_counts(load_kernel("column_order")) == Copies(3, 6, 0, 12)
    assert copy_counts(load_kernel("async_copy")) == Copies(0, 0, 12, 0)


def test_a_block_for_each_tile_multiplies_whole_tiles() -> None:
    found = shares_of(load_kernel("producers"), 4, 3)
    assert sorted(map(len, found)) == [WINDOWS, WINDOWS, 2 * WINDOWS]
    for share in found:
        assert [piece.window for piece in share] == list(range(WINDOWS)) * (len(share) // WINDOWS)
    assert sorted({piece.tile for share in found for piece in share}) == [0, 1, 2, 3]


def test_even_shares_hold_each_window_once_and_none_that_is_only_looked_at() -> None:
    found = shares_of(load_kernel("stream_k"), 4, 3)
    assert [len(share) for share in found] == [WINDOWS + 1] * 3
    every = sorted(piece for share in found for piece in share)
    assert every == [Piece(tile, window) for tile in range(4) for window in range(WINDOWS)]
    assert "1 K tile of tile 3 and 3 K tiles of tile 4" in drawn("even shares").text
    assert drawn("even shares").html.count(">flag<") == 2


def test_a_figure_concludes_in_bold_and_says_where_numbers_come_from() -> None:
    one = panel("Left", [words(0, 10, "1 < 2")], 20, "one and two")
    made = figure(
        one, one, conclusion="Pieces decide: **8** of them. More.", question="Why?", origin="H200"
    )
    assert "<strong>Pieces decide:</strong>" in made.html
    assert "1 &lt; 2" in made.html
    assert made.text.startswith("Why?\nLeft: one and two")
    assert made.text.endswith("H200")


def test_a_half_warp_that_reads_the_same_16_bytes_takes_a_wavefront() -> None:
    halves = drawn("two half-warps")
    assert "wavefront 1 serves 16 lanes, wavefront 2 serves 16 lanes" in halves.text
    assert halves.text.endswith("2 wavefronts")


def test_the_swizzle_puts_one_piece_of_eight_rows_into_all_banks() -> None:
    plain, swizzled = (lab.swizzle("Rows", swizzled=one) for one in (False, True))
    assert plain.text.endswith("Piece 2 of all rows: 4 banks, 8 wavefronts")
    assert swizzled.text.endswith("Piece 2 of all rows: 32 banks, 1 wavefront")


def test_a_band_of_tiles_needs_less_of_a_and_b_than_rows_of_tiles() -> None:
    rows, band = (
        lab.tiles_at_once("Tiles", name, 8192, 132) for name in ("wgmma_tf32:BAND=1", "wgmma_tf32")
    )
    assert rows.text.endswith("768 rows of A and 8,192 columns of B")
    # 8 rows of 16 tiles, and 4 tiles of the next two columns
    assert band.text.endswith("2,048 rows of A and 2,304 columns of B")


def test_a_cluster_divides_the_k_tiles_of_a_tile() -> None:
    few = {"tiles": 2, "sms": 4, "windows": 4}
    assert "SM 4 is idle." in lab.k_split("Tiles", "small_tile", **few).text


def test_in_serpentine_order_only_the_first_product_reads_both_factors() -> None:
    from_the_top, turning = (
        lab.product_order("Order", serpentine=turns) for turns in (False, True)
    )
    assert from_the_top.text.endswith("16 of 128 products read both factors")
    assert turning.text.endswith(" 1 of 128 products read both factors")


def test_a_lane_holds_a_quarter_of_what_its_sums_need_of_a() -> None:
    assert (
        "Lane 5 holds 4 elements of A, 2 of B and 4 sums, which need 16 elements of A and 16 of B."
        in drawn("a fragment").text
    )


def test_one_column_reads_a_whole_row_at_once() -> None:
    assert "copies 128 elements of 16 × 128 of A, 4 of them for its" in drawn("a vector").text


def test_a_wgmma_darkens_c_by_its_share_of_the_k_tile() -> None:
    steps = lab.warp_group_steps("wgmma_minimal")
    assert [steps[f"k = {k} to {k + 7}"].html.count('fill-opacity="0.45"') for k in (0, 8)] == [
        0,
        4,
    ]
    assert "64 columns of B, from registers" in steps["k = 8 to 15"].text
