"""The table of wrong picks: who wins where, what it costs elsewhere, what is said of no table."""

from dataclasses import replace

import pytest
from table_samples import point, table

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.records.dispatch_table import Table

EIGHT, NINE = (8, 8, 8), (9, 9, 9)
TABLE = table(
    point("naive", EIGHT, 1e-5, cublas_seconds=2e-5),
    point("tiled", EIGHT, 2e-5),
    point("tiled:TILE=16", EIGHT, 4e-5),
    point("tiled", NINE, 1e-5, cublas_seconds=5e-6),
    point("float4", NINE, 2e-5),
)
PLACE = "sgemm_lab.lab.dispatcher.load_tables"


def rows(monkeypatch: pytest.MonkeyPatch, *tables: Table) -> list[list[str]]:
    monkeypatch.setattr(PLACE, lambda: list(tables))
    found = lab.wrong_picks(8, (9, 9, 9))
    return [line.split() for line in found.text.splitlines()[:4]]


def test_each_winner_has_a_row_with_its_times_at_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(monkeypatch, TABLE)
    assert found[0][-2:] == ["8³", "9³"]
    assert ["1.00", "–"] in [line[-2:] for line in found if line[0] == "naive"]
    assert ["2.00", "1.00"] in [line[-2:] for line in found if line[0].startswith("tiled")]


def test_points_of_code_that_has_changed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    old = replace(TABLE.points[0], fingerprint="old")
    monkeypatch.setattr(PLACE, lambda: [table(old, TABLE.points[1])])
    assert "naive" not in lab.wrong_picks(8).text
    monkeypatch.setattr(PLACE, lambda: [table(old)])
    with pytest.raises(LabError, match="No search on NVIDIA H200 measured these sizes"):
        lab.wrong_picks(8)


def test_without_a_table_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLACE, lambda: [])
    with pytest.raises(LabError, match="no table of a search yet"):
        lab.wrong_picks()
