"""Bounds from demand. ``test_record_judging`` checks all records against them."""

from dataclasses import replace

import pytest
from ladder_samples import WITHOUT_A_DEMAND
from record_samples import DEVICE, reading, run

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel, Size, parse_kernel
from sgemm_lab.models.bound import (
    DATA,
    DRAM,
    GRID,
    ISSUE,
    L2,
    LOOKUP,
    PEAK,
    Bound,
    Cap,
    bound,
    bound_of,
    cap_of,
    rates,
)
from sgemm_lab.models.demand import block_demand
from sgemm_lab.records.gpu_record import Counters, Record, Spread
from sgemm_lab.records.store import load_records, scores

H200 = find_gpu("h200")
CUBE = (4096, 4096, 4096)
KERNELS = load_kernels(variants=True)

TILED = load_kernel("tiled")


def cap(found: Bound, unit: str) -> Cap:
    """Return the cap of a unit with known demand."""
    known = found.of(unit)
    assert known is not None
    return known


def has_demand(kernel: Kernel) -> bool:
    """Whether its blocks are tiles of C, so that the per-block demand is known."""
    return kernel.base_name not in WITHOUT_A_DEMAND


def is_counted(kernel: Kernel) -> bool:
    """Whether the record has counters of its current source."""
    return has_demand(kernel) and any(record.launches(kernel) for record in load_records())


COUNTED = [kernel for kernel in KERNELS if is_counted(kernel)]


def test_measured_kernels_of_the_chapters_record_have_counters() -> None:
    """A kernel without measurements needs no counters yet."""
    book = load_records()[0]
    measured = {s.kernel for s in scores([book]) if not s.picked}
    waiting = [kernel.name for kernel in filter(has_demand, KERNELS) if kernel not in COUNTED]
    assert not measured & set(waiting), "Run 'sgemm-lab counters' of them on a GPU."


@pytest.mark.parametrize("kernel", COUNTED, ids=lambda kernel: kernel.name)
def test_the_per_block_demand_equals_the_counters_of_a_gpu(kernel: Kernel) -> None:
    block, judged, copies = block_demand(kernel), 0, "cp.async" in kernel.source
    for record in load_records():
        for (m, n, k), entry in record.launches(kernel).items():
            steps, here, there = m * n * k / 32, block.per_step((m, n, k)), entry.values
            shared = there["shared_load_wavefronts"] + there["shared_store_wavefronts"]
            requests = there["global_load_requests"] + there["global_store_requests"]
            if m == n == k and not copies:
                assert here["shared"] * steps == shared
                assert here["requests"] * steps == requests
            # Products of tensor cores are no multiply-adds that the GPU counts.
            fused = there["ffma_thread_instructions"] / 32
            products = fused if kernel.arithmetic == "fp32" else steps
            if m == n == k:
                assert here["products"] * steps == products
            # A block that walks from tile to tile starts up once; here, for every second tile.
            starts = 1.0001 if "SMS" in "".join(kernel.grid) else 1
            # The counter of wavefronts leaves ldmatrix out; that of L1's data stage does not.
            if "ldmatrix" not in kernel.source:
                assert here["shared"] * steps <= starts * shared
            assert here["products"] * steps <= products
            # The two stages of L1 were counted of some kernels only. The rules give the least.
            if there.get("l1_lookup_wavefronts"):
                assert here["lookups"] * steps <= there["l1_lookup_wavefronts"]
            if there.get("l1_data_wavefronts"):
                data = (here["shared"] + here["global"]) * steps
                assert data <= 1.002 * there["l1_data_wavefronts"]
            judged += 1
    assert judged >= 2


def test_a_cap_is_flop_per_step_times_steps_per_second() -> None:
    # One wavefront per step on 132 SMs at 1.98 GHz: 132 · 1.98 · 64 = 16,727 GFLOP/s.
    assert cap_of(1, rates(H200)[DATA]) == pytest.approx(16727.04)
    assert cap_of(1.625, rates(H200)[DATA]) == pytest.approx(16727.04 / 1.625)
    assert cap_of(1, rates(H200)[PEAK]) == H200.peak_gflops
    assert rates(H200)[DATA] * 128 == pytest.approx(H200.shared_gbs)
    assert rates(find_gpu("t4"))[PEAK] == rates(find_gpu("t4"))[ISSUE] / 2


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("naive_rows", "L1"),
        ("naive", "L1"),
        ("tiled", "shared memory"),
        ("float4_tile", "shared memory"),
    ],
)
def test_the_limiting_unit_has_a_name(name: str, unit: str) -> None:
    found = bound(load_kernel(name), CUBE, H200)
    assert found.unit == unit
    assert found.gflops == min(cap.gflops for cap in found.caps)
    assert [cap.gflops for cap in found.caps] == sorted(cap.gflops for cap in found.caps)


def test_issue_slots_limit_only_with_counters() -> None:
    book = load_records()[0]
    found, unknown = (
        bound(load_kernel("double_buffer"), CUBE, H200, book),
        bound(load_kernel("double_buffer"), CUBE, H200),
    )
    assert found.cap.unit == ISSUE
    assert unknown.of(ISSUE) is None
    assert unknown.cap.unit == GRID


def launches(kernel: Kernel, **instructions: int) -> Record:
    """Return a record with a kernel's instruction counts at some cubes."""
    taken = tuple(
        Counters(kernel.name, kernel.fingerprint, n, n, n, {"warp_instructions": float(count)})
        for n, count in ((int(size.lstrip("n")), count) for size, count in instructions.items())
    )
    return Record(DEVICE, (run(counters=taken),))


def test_instructions_are_extrapolated_from_two_cubes() -> None:
    tiled = load_kernel("tiled")
    # A block takes 1000 instructions and 200 more per step of K: 32 of its steps are one warp's.
    blocks = {n: (n // 32) ** 2 for n in (64, 128)}
    record = launches(tiled, **{f"n{n}": count * (1000 + 200 * n) for n, count in blocks.items()})
    here = bound(tiled, (64, 64, 64), H200, record)
    between = bound(tiled, (96, 96, 96), H200, record)
    assert cap(here, ISSUE).demand == pytest.approx((1000 + 200 * 64) / (32 * 64))
    assert cap(between, ISSUE).demand == pytest.approx(200 / 32)
    assert bound(tiled, (96, 96, 96), H200, launches(tiled, n64=1)).of(ISSUE) is None


def test_a_bound_uses_the_clock_of_the_run() -> None:
    """A GeForce exceeds the clock of its data sheet, and so do its units' rates."""
    book = load_records()[0]
    score = next(s for s in scores([book]) if s.kernel == "tiled" and s.size == CUBE)
    faster = replace(score, run=replace(score.run, clock_mhz=Spread(1980, 2000, 2100)))
    usual, fast = bound_of(TILED, score, H200, book), bound_of(TILED, faster, H200, book)
    assert usual is not None
    assert fast is not None
    assert (usual.gpu, fast.gflops) == (fast.gpu, pytest.approx(usual.gflops * 2100 / 1980))
    slower = replace(score, run=replace(score.run, clock_mhz=Spread(900, 1000, 1100)))
    assert bound_of(TILED, slower, H200, book) == usual


def test_a_removed_or_changed_kernel_has_no_bound() -> None:
    score = next(s for s in scores(load_records()) if s.kernel == "tiled")
    book = load_records()[0]
    assert bound_of(TILED, score, H200, book) is not None
    edited = replace(score, fingerprint="other")
    assert bound_of(TILED, edited, H200, book) is None


def test_counters_of_another_source_are_ignored() -> None:
    other = load_kernel("tiled").with_constants(TILE=16)
    changed = replace(other, source=other.source.replace("acc +=", "acc -="))
    assert bound(changed, (64, 64, 64), H200, launches(other, n64=99999)).of(ISSUE) is None


def test_a_measured_rate_is_an_estimate_and_not_the_bound() -> None:
    record = Record(DEVICE, (run(readings=(reading("bandwidth.read", 2**22, 0.001),)),))
    found = bound(load_kernel("tiled"), CUBE, H200, record)
    (l2,) = found.estimates
    assert (l2.unit, l2.estimate) == (L2, True)
    assert l2.gflops < found.gflops
    assert all(not cap.estimate for cap in found.caps)


@pytest.mark.parametrize(
    ("size", "busiest"),
    [
        (CUBE, 8 * 132 * 128 * 128 / 4096**2),  # 1,024 blocks: some SM has 8
        ((128, 128, 128), 132),  # one block: one SM
        ((1, 4096, 64), 132 * 128 / 4096),  # 32 blocks of one row each
        ((129, 128, 64), 132 * 128 / 129),  # the second block is no whole one
    ],
)
def test_the_busiest_sm_limits_the_launch(size: Size, busiest: float) -> None:
    assert cap(bound(load_kernel("split"), size, H200), GRID).demand == pytest.approx(busiest)


def test_tiles_below_the_split_threshold_stay_whole() -> None:
    tiles, windows = 128, 256  # of 2048³: 4 of 132 SMs without a tile are under 8 windows each
    side = cap(bound(load_kernel("per_warp_stages"), (2048, 2048, 2048), H200), GRID)
    assert side.demand == pytest.approx(132 / tiles)
    shared = cap(bound(load_kernel("per_warp_stages"), (2048, 2048, 8192), H200), GRID)
    busiest = -(-tiles * 4 * windows // 132)
    assert shared.demand == pytest.approx(busiest * 132 / (tiles * 4 * windows))


@pytest.mark.parametrize(("written", "counts"), [(0.0, 4 * 256**2), (1e6, 1e6)])
def test_a_counted_launch_stores_all_of_c(written: float, counts: float) -> None:
    """What it leaves in L2 goes to DRAM later."""
    values = {"dram_read_bytes": 5e6, "dram_write_bytes": written}
    counters = Counters("split", load_kernel("split").fingerprint, 256, 256, 256, values)
    found = bound(
        load_kernel("split"), (256, 256, 256), H200, Record(DEVICE, (run(counters=(counters,)),))
    )
    assert cap(found, DRAM).demand == pytest.approx((5e6 + counts) / (256**3 / 32))


def test_sizes_that_blocks_do_not_divide_have_a_lower_bound_of_demand() -> None:
    rows = block_demand(load_kernel("naive_rows"))
    assert rows.per_step(CUBE)["global"] > 33
    # Where rows end elsewhere, 32 rows lie in 32 banks.
    assert rows.per_step((4095, 4097, 4093))["global"] == pytest.approx(2)


def test_a_grid_that_is_not_a_grid_of_tiles_is_refused() -> None:
    text = load_kernel("tiled").source.replace("grid: ceil(N / TILE)", "grid: ceil(N / 64)")
    with pytest.raises(LabError, match=r"cannot be told: its grid is no grid of tiles"):
        block_demand(parse_kernel("mine", text))


def test_lookups_limit_accesses_without_bank_conflicts() -> None:
    found = bound(load_kernel("naive_rows"), (4095, 4097, 4093), H200)
    assert found.cap.unit == LOOKUP
    assert found.cap.demand == pytest.approx(9)


def test_tensor_cores_bound_a_kernel_by_its_arithmetic() -> None:
    found = {
        name: bound(load_kernel(name), CUBE, H200)
        for name in ("mma_tf32", "wgmma_fp16", "promoted")
    }
    peak = {name: one.of(PEAK) for name, one in found.items()}
    assert peak["mma_tf32"] is not None
    assert peak["mma_tf32"].label == "tensor cores"
    assert peak["mma_tf32"].gflops == pytest.approx(132 * 1024 * 2 * 1.98)
    assert peak["wgmma_fp16"] is not None
    assert peak["wgmma_fp16"].gflops == pytest.approx(2 * peak["mma_tf32"].gflops)
    assert peak["promoted"] is not None
    assert peak["promoted"].gflops == pytest.approx(peak["mma_tf32"].gflops / 3)
    assert [one.of(DATA) is not None for one in found.values()] == [True, False, True]


def test_a_gpu_without_tf32_raises_an_error() -> None:
    with pytest.raises(LabError, match="The tensor cores of T4 do not multiply TF32 factors"):
        bound(load_kernel("mma_tf32"), CUBE, find_gpu("t4"))


@pytest.mark.parametrize("name", ["wgmma_fp16", "wgmma_3xfp16"])
def test_a_grid_of_all_sms_takes_whole_tiles_in_turn(name: str) -> None:
    share = bound(load_kernel(name), (4096, 4096, 4096), H200, partial=True).of(GRID)
    assert share is not None
    assert share.demand == pytest.approx(4 * 132 / 512 if name == "wgmma_fp16" else 8 * 132 / 1024)
