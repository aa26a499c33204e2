"""Machine code as the book shows it."""

import pytest

from sgemm_lab import lab
from sgemm_lab.cuda import shipped_loops
from sgemm_lab.cuda.counters import STALL_REASONS
from sgemm_lab.errors import MissingToolError
from sgemm_lab.lab.machine_code import MainLoops
from sgemm_lab.lab.stalls import NAMES


def test_two_orders_of_the_same_products_side_by_side() -> None:
    loops = lab.machine_code("hoisted_guard", "column_order")
    assert isinstance(loops, MainLoops)
    inside, column_order = loops.kernels
    assert inside["steps"] == column_order["steps"]
    assert inside["multiply_adds"] == column_order["multiply_adds"] == 1024
    assert column_order["extra"] < inside["extra"]
    assert sum(column_order["kinds"].values()) == column_order["steps"]
    assert column_order["kinds"]["multiply"] == 1024
    assert "multiply-add" in loops.text


def test_every_reason_has_words() -> None:
    assert {*NAMES} == {*STALL_REASONS} - {"selected"}


def test_a_missing_tool_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingToolError("The CUDA compiler NVRTC is not installed.")

    monkeypatch.setattr(shipped_loops, "compile_kernel", missing)
    assert "NVRTC is not installed" in repr(lab.machine_code("tiled"))
