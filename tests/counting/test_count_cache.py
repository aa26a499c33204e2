"""Counts that travel with the package: of today's kernels and simulator, and what is simulated."""

import json
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.counting import count_cache as module
from sgemm_lab.counting.count_cache import BLOCKS, FILE, LAUNCHES, cached_count, entry, write
from sgemm_lab.counting.hardware_comparison import (
    RAGGED,
    REGULAR,
    counts_of_all,
    launch_name,
    simulated_counts,
)
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.models import demand
from sgemm_lab.models.count_all import scored
from sgemm_lab.models.demand import BlockDemand, block_demand, simulated_demand

KERNELS = load_kernels(variants=True)
COUNTED = json.loads(FILE.read_text())
PICKED = [kernel.name for kernel in scored(KERNELS) if kernel.name in COUNTED[BLOCKS]["counts"]]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_is_kept_as_it_is_today(kernel: Kernel) -> None:
    ptx = archived_ptx(kernel)
    for size in (REGULAR, RAGGED):
        assert cached_count(LAUNCHES, launch_name(kernel, size), ptx) is not None, (
            "run: make counts"
        )
    if cached_count(BLOCKS, kernel.name, kernel.fingerprint) is None:
        with pytest.raises(LabError):  # a block that is no tile of C
            block_demand(kernel)


def test_nothing_is_kept_of_kernels_that_are_no_more() -> None:
    launches = {launch_name(kernel, size) for kernel in KERNELS for size in (REGULAR, RAGGED)}
    assert set(COUNTED[LAUNCHES]["counts"]) == launches, "run: make counts"
    blocks = {kernel.name for kernel in (*KERNELS, *scored(KERNELS))}
    assert set(COUNTED[BLOCKS]["counts"]) <= blocks, "run: make counts"


@pytest.mark.parametrize(
    ("name", "size"), [("naive", RAGGED), ("float4_tile", RAGGED), ("split", REGULAR)]
)
def test_what_is_kept_is_what_is_simulated(name: str, size: Size) -> None:
    kernel = load_kernel(name)
    assert counts_of_all([(kernel, size)])[0] == simulated_counts(
        kernel, size, archived_ptx(kernel)
    )


@pytest.mark.parametrize("name", ["tiled:TILE=16", "double_buffer", "hoisted_guard", PICKED[0]])
def test_what_is_kept_of_a_block_is_what_is_simulated(name: str) -> None:
    kernel = load_kernel(name)
    found = cached_count(BLOCKS, name, kernel.fingerprint)
    assert BlockDemand(**found or {}) == simulated_demand(kernel)


def test_a_block_that_is_no_tile_is_refused_before_it_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demand, "archived_ptx", lambda _: pytest.fail("it was compiled"))
    with pytest.raises(LabError, match="its grid is no grid of tiles of C"):
        block_demand(load_kernel("split_k").with_constants(STAGES=3))


def test_other_code_and_another_simulator_are_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "count_cache.json"
    write({LAUNCHES: {"mine at 1×1×1": entry("the PTX", {"loads": 3})}}, file)
    monkeypatch.setattr(module, "FILE", file)
    assert cached_count(LAUNCHES, "mine at 1×1×1", "the PTX") == {"loads": 3}
    assert cached_count(LAUNCHES, "mine at 1×1×1", "other PTX") is None
    assert cached_count(LAUNCHES, "yours at 1×1×1", "the PTX") is None
    assert cached_count(BLOCKS, "mine at 1×1×1", "the PTX") is None
    monkeypatch.setattr(module, "state", lambda _: "another simulator")
    assert cached_count(LAUNCHES, "mine at 1×1×1", "the PTX") is None


def test_without_the_file_everything_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "FILE", tmp_path / "none.json")
    assert cached_count(BLOCKS, "tiled", load_kernel("tiled").fingerprint) is None
    assert counts_of_all([(load_kernel("naive"), (2, 3, 4))])[0]["ffma_thread_instructions"] == 24
