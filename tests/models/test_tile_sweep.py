"""Demands over many constants, as shipped for sliders: current, and those of the one bound."""

from dataclasses import replace

import pytest

from sgemm_lab.kernel import load_kernel
from sgemm_lab.models import tile_sweep as module
from sgemm_lab.models.demand import block_demand
from sgemm_lab.models.tile_sweep import (
    CHOICES,
    COLUMNS,
    KERNELS,
    SIZE,
    counted_anew,
    slid_constants,
    slides,
)


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_shipped_is_of_todays_kernels_and_holds_their_constants(name: str) -> None:
    kernel = load_kernel(name)
    shipped = slides(name)
    here = tuple(kernel.values[constant] for constant in slid_constants(kernel))
    counted = block_demand(kernel).per_step(SIZE)
    assert shipped[here] == {column: pytest.approx(counted[column], abs=1e-6) for column in COLUMNS}
    assert all(demand["shared"] > 0 for demand in shipped.values())


def test_a_choice_that_cannot_run_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHOICES, "TILE", (16, 33))
    made = counted_anew(load_kernel("tiled"))
    assert made["constants"] == ["TILE"]
    assert list(made["rows"]) == ["16"]
    assert made["rows"]["16"] == [slides("tiled")[(16,)][column] for column in COLUMNS]


def test_a_kernel_that_changed_since_has_no_slides(monkeypatch: pytest.MonkeyPatch) -> None:
    tiled = load_kernel("tiled")
    other = replace(tiled, source=tiled.source.replace("acc +=", "acc -="))
    monkeypatch.setattr(module, "load_kernel", lambda _name: other)
    with pytest.raises(KeyError, match="tiled"):
        slides("tiled")
