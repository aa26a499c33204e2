"""The map of a search: who wins, how well the model ranked, and what is said where nothing is."""

import re
from dataclasses import replace

import pytest
from table_samples import point, table

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab import search_chart
from sgemm_lab.lab.search_chart import SearchMap
from sgemm_lab.style import NARROW

EIGHT, NINE = (8, 8, 8), (9, 9, 9)
TABLE = table(
    point("naive", EIGHT, 1e-5, cublas_seconds=2e-5, bound_gflops=9.0),
    point("tiled", EIGHT, 2e-5, bound_gflops=8.0),
    point("tiled:TILE=16", EIGHT, 4e-5, bound_gflops=7.0),
    point("tiled", NINE, 1e-5, cublas_seconds=5e-6, bound_gflops=3.0),
    point("naive", NINE, 2e-5, bound_gflops=4.0),
)


def test_the_winners_are_the_fastest_of_their_sizes() -> None:
    found = SearchMap(TABLE, [EIGHT, NINE])
    assert [winner.kernel for winner in found.winners] == ["naive", "tiled"]
    said = repr(found)
    assert said.startswith(
        "No kernel suits all sizes: of 3 candidates 2 win at 2 sizes, at 50 % to 200 % of cuBLAS."
    )
    assert "correlation of 0.00 in the middle case" in said


def test_the_correlation_is_the_middle_one_of_the_sizes() -> None:
    assert SearchMap(TABLE, [EIGHT]).correlation == pytest.approx(1)
    assert SearchMap(TABLE, [NINE]).correlation == pytest.approx(-1)
    assert SearchMap(TABLE, [EIGHT, NINE]).correlation == pytest.approx(0)
    alone = SearchMap(table(point("naive", EIGHT, 1e-5)), [EIGHT])
    assert "correlation" not in repr(alone)
    assert repr(alone).startswith("One kernel wins at 1 size, naive, at 100 % to 100 % of cuBLAS.")
    with pytest.raises(LabError, match="two candidates were measured"):
        _ = alone.correlation


def test_the_picture_names_every_candidate_and_size() -> None:
    bundle, phone = SearchMap(TABLE, [EIGHT, NINE])._repr_mimebundle_()
    for drawing in (bundle["image/svg+xml"], phone[NARROW]):
        words = re.findall(r">([^<>\n]+)</text>", drawing)
        assert {"naive 8×64", "tiled", "tiled, TILE 16", "8³", "9³"} <= set(words)


def test_labels_that_would_be_equal_are_written_out() -> None:
    names = ["thread_tile", "thread_tile:BK=16"]
    assert search_chart._labels(names) == names


def test_points_of_code_that_has_changed_are_left_out() -> None:
    old = replace(TABLE.points[0], fingerprint="old")
    assert SearchMap(table(old, TABLE.points[1]), [EIGHT]).winners[0].kernel == "tiled"
    with pytest.raises(LabError, match="No search on NVIDIA H200 measured these sizes"):
        SearchMap(table(old), [EIGHT])


def test_the_verb_says_what_to_do_where_there_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_chart, "load_tables", lambda: [])
    with pytest.raises(LabError, match="no table of a search yet"):
        lab.search_map()
    monkeypatch.setattr(search_chart, "load_tables", lambda: [TABLE])
    assert lab.search_map(8, (9, 9, 9)).sizes == [EIGHT, NINE]
