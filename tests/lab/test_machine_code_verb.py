"""Machine code as the book shows it."""

import pytest

from sgemm_lab import lab
from sgemm_lab.cuda import shipped_loops
from sgemm_lab.cuda.counters import STALL_REASONS
from sgemm_lab.errors import MissingToolError
from sgemm_lab.lab.machine_code import REASONS
from sgemm_lab.widgets import MachineCode


def test_two_orders_of_the_same_products_side_by_side() -> None:
    widget = lab.machine_code("inside", "by_column")
    assert isinstance(widget, MachineCode)
    inside, by_column = widget.shown
    assert inside["steps"] == by_column["steps"]
    assert inside["multiply_adds"] == by_column["multiply_adds"] == 1024
    assert by_column["extra"] < inside["extra"]
    waits = lab.hardware("by_column")
    assert by_column["stalls"]["shared memory"] == waits.stalled_short_scoreboard
    assert list(by_column["stalls"].values()) == sorted(by_column["stalls"].values(), reverse=True)
    assert by_column["note"] == "NVIDIA H200, 4096³"


def test_every_reason_has_words() -> None:
    assert {*REASONS} == {*STALL_REASONS} - {"selected"}


def test_where_nothing_was_counted_there_are_no_stalls() -> None:
    widget = lab.machine_code("register_cache", size=300)
    assert isinstance(widget, MachineCode)
    assert widget.shown[0]["stalls"] == {}


def test_a_missing_tool_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingToolError("The CUDA compiler NVRTC is not installed.")

    monkeypatch.setattr(shipped_loops, "compile_kernel", missing)
    assert "NVRTC is not installed" in repr(lab.machine_code("tiled"))
