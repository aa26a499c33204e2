"""The scoreboard of a page: the records, and what a session measured."""

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.records.json_files import Kind


def test_it_begins_with_one_size_and_holds_all() -> None:
    board = lab.scoreboard()
    assert (board.size, board.arithmetic) == ("4096×4096×4096", "fp32")
    shown = [
        row
        for row in board.rows
        if (row["size"], row.get("arithmetic")) == ((4096, 4096, 4096), board.arithmetic)
    ]
    assert len(board.rows) > len(shown)
    names = {row["kernel"] for row in shown}
    assert {"naive", "matmul", "strassen, 2 levels"} & names == {"naive", "matmul"} | (
        names & {"strassen, 2 levels"}
    )
    assert all(0 < row["of_bound"] < 1.02 for row in board.rows if "of_bound" in row)
    assert lab.scoreboard(123).size == ""


def test_what_was_measured_here_stands_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = record(run(samples("naive", 1.0), samples("cublas", 0.5)))
    monkeypatch.setattr(session, "here", lambda: [mine])
    board = lab.scoreboard()
    assert board.rows[0]["gpu"] == f"{DEVICE.name}, yours"


def test_without_any_record_it_says_how_to_take_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "book_records", lambda: [])
    monkeypatch.setattr(Kind, "load_all", lambda self: [])
    with pytest.raises(LabError, match="Take one with 'sgemm-lab record'"):
        lab.scoreboard()
