"""Shipped demands over many constants: current, and equal to a simulation."""

from dataclasses import replace

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.models import tile_sweep as module
from sgemm_lab.models.demand import block_demand
from sgemm_lab.models.tile_sweep import (
    CHOICES,
    COLUMNS,
    KERNELS,
    SIZE,
    count_all_choices,
    swept_constants,
    tile_demands,
)


@pytest.mark.parametrize("name", KERNELS)
def test_the_shipped_demands_are_of_the_current_kernels(name: str) -> None:
    kernel = load_kernel(name)
    shipped = tile_demands(name)
    here = tuple(kernel.values[constant] for constant in swept_constants(kernel))
    counted = block_demand(kernel).per_step(SIZE)
    assert shipped[here] == {column: pytest.approx(counted[column], abs=1e-6) for column in COLUMNS}
    assert all(demand["shared"] > 0 for demand in shipped.values())


def test_a_choice_that_cannot_run_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHOICES, "TILE", (16, 33))
    made = count_all_choices(load_kernel("tiled"))
    assert made["constants"] == ["TILE"]
    assert list(made["rows"]) == ["16"]
    assert made["rows"]["16"] == [tile_demands("tiled")[(16,)][column] for column in COLUMNS]


def test_a_changed_kernel_has_no_shipped_demands(monkeypatch: pytest.MonkeyPatch) -> None:
    tiled = load_kernel("tiled")
    other = replace(tiled, source=tiled.source.replace("acc +=", "acc -="))
    monkeypatch.setattr(module, "load_kernel", lambda _name: other)
    with pytest.raises(KeyError, match="tiled"):
        tile_demands("tiled")
