"""Counting without a GPU: equal to the H200's own counters, and no wrong kernel gets through."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from turns import TAKES_TURNS

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.counting import kernel_counts as counting
from sgemm_lab.counting.hardware_comparison import RAGGED, REGULAR, counts_of_all
from sgemm_lab.counting.kernel_counts import COUNTS, count, multiply_whole_numbers
from sgemm_lab.counting.step_trace import trace_steps
from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.cuda import shipped_ptx
from sgemm_lab.cuda.compiler import compile_to_ptx
from sgemm_lab.cuda.shipped_ptx import kernel_ptx, shipped_kernels, shipped_text
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.kernel import Kernel, Size, parse_kernel
from sgemm_lab.records.store import load_records

pytestmark = TAKES_TURNS

KERNELS = load_kernels(variants=True)
H200 = [record for record in load_records() if record.gpu.name == "NVIDIA H200"]
COUNTED = [
    kernel for kernel in KERNELS if all(H200[0].counted(kernel, size) for size in (REGULAR, RAGGED))
]
"""Those that the record has counters of."""
(H100,) = (record for record in load_records() if "H100" in record.gpu.name)
BY_TMA = [load_kernel(name) for name in (
    "wgmma_minimal", "wgmma_tf32", "wgmma_fp16", "wgmma_fp16:INPUT=16", "wgmma_3xfp16"
)]  # fmt: skip
"""Kernels whose factors TMA copies, which no counter of a warp's loads counts."""
WRONG = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.cu"))

FAULTS = {
    "clobbered_input": "of A, which it may only read",
    "double_buffer_race": "writes As[8], which thread 47",
    "doubled_term": "wrong by more than rounding explains",
    "dropped_tail": "wrong on whole numbers",
    "hidden_nan": "wrong where A and B hold NaN and infinity",
    "misaligned_vector": "is not at a multiple of 16 bytes",
    "missing_copy_wait": "which nothing has written",
    "missing_filled_wait": "with no barrier between",
    "missing_first_barrier": "with no barrier between",
    "missing_second_barrier": "with no barrier between",
    "outside_load": "of A, which has",
    "outside_store": "which has",
    "skipped_zeros": "wrong where A and B hold NaN and infinity",
    "transposed_index": "wrong on whole numbers",
    "unwritten_edge": "never written",
}
"""What a verdict says about each kernel that is wrong on purpose."""

MORE_ON_THE_GPU = {
    # ptxas writes the loop that fills the strip of A out 16, 8 and 4 times. Lanes 30 and 31 of a
    # warp make one turn less than the others, so they take the copy for 4 turns where the others
    # take the one for 8: 4 requests more for each warp, of which 255 rows × 9 blocks load.
    ("strip", RAGGED): {
        "global_load_requests": 4 * 255 * 9,
        "shared_store_requests": 4 * 256 * 9,
        "shared_store_wavefronts": 4 * 256 * 9,
    }
}
"""What the GPU counted more than the simulator: all that is known to differ."""


def wrong_kernel(name: str) -> Kernel:
    path = Path(__file__).parents[1] / "wrong_kernels" / f"{name}.cu"
    return parse_kernel(name, path.read_text())


@pytest.mark.parametrize("size", [REGULAR, RAGGED], ids=["regular", "ragged"])
@pytest.mark.parametrize("kernel", COUNTED, ids=lambda kernel: kernel.name)
def test_counts_equal_the_hardware(kernel: Kernel, size: Size) -> None:
    (record,) = H200
    gpu = record.launches(kernel)[size].values
    (here,) = counts_of_all([(kernel, size)])
    more = {name: gpu[name] - here[name] for name in COUNTS if gpu[name] != here[name]}
    assert more == MORE_ON_THE_GPU.get((kernel.name, size), {})


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(REGULAR, id="regular"),
        pytest.param(RAGGED, id="ragged", marks=pytest.mark.whole),
    ],
)
@pytest.mark.parametrize("kernel", BY_TMA, ids=lambda kernel: kernel.name)
def test_counts_of_warp_groups_equal_the_h100(kernel: Kernel, size: Size) -> None:
    gpu = H100.launches(kernel)[size].values
    (here,) = counts_of_all([(kernel, size)])
    assert {name: here[name] for name in COUNTS} == {name: gpu[name] for name in COUNTS}


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_kernel_is_caught_at_the_sizes_checked_by_default(path: Path) -> None:
    faults = (verdict.fault or "" for verdict in check_simulated(wrong_kernel(path.stem)))
    assert any(FAULTS[path.stem] in fault for fault in faults)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k < K;", "k < (K > 128 ? 128 : K);"),
        ("k < K;", "k < K - (K % 8 == 6);"),
        ("k < K;", "k < K - (M % 128 == 0 && N % 128 == 0);"),
        ("row >= M", "row >= (M > 512 ? 512 : M)"),
        ("size_t(row) * K + k", "short(row * K + k)"),
    ],
)
def test_the_sizes_checked_by_default_catch_what_small_ones_miss(old: str, new: str) -> None:
    kernel = parse_kernel("mine", load_kernel("naive_rows").source.replace(old, new))
    few = [(1, 1, 1), (17, 17, 17), (33, 31, 29), (34, 36, 65)]
    assert all(verdict.passed for verdict in check_simulated(kernel, few))
    assert any(verdict.fault for verdict in check_simulated(kernel))


def test_checking_ends_at_the_size_that_takes_too_long() -> None:
    (verdict,) = check_simulated(
        load_kernel("tiled"), [(64, 64, 65536), (1, 1, 1)], time_limit=0.02
    )
    assert verdict.fault is None
    assert verdict.refusal is not None
    assert verdict.refusal.startswith(
        "The simulation was stopped after 0.02 seconds: 0 of 4 blocks"
    )


def test_size_that_does_not_fit_is_refused_in_a_sentence() -> None:
    fits, too_deep = check_simulated(load_kernel("strip"), [(2, 2, 908), (2, 2, 909)])
    assert fits.passed
    assert too_deep.fault is None
    assert too_deep.refusal == (
        "The kernel wants 232,704 bytes of shared memory for a block; a GPU of sm_90 has 232,448. "
        "Choose a smaller tile or a smaller K."
    )


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((2048, 2048, 2048), "it would take minutes"),
        ((2**24, 5, 1), "may have 67,108,864 elements"),
        ((0, 1, 1), "M is 0"),
    ],
)
def test_size_out_of_reach_is_refused_before_any_work(size: Size, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        count(load_kernel("tiled"), size)


def test_launch_on_whole_numbers_is_exact_and_says_what_is_wrong() -> None:
    right = count(load_kernel("tiled"), (33, 34, 35))
    assert (right.wrong, right.max_abs_error) == (0, 0.0)
    dropped = count(wrong_kernel("dropped_tail"), (33, 34, 35))
    assert dropped.wrong > 0
    assert 1 <= dropped.max_abs_error < np.inf
    unwritten = count(wrong_kernel("unwritten_edge"), (33, 34, 35))
    assert unwritten.wrong == 34
    assert unwritten.max_abs_error == np.inf


@pytest.mark.parametrize(("k", "most"), [(2**18, 8), (2**18 + 1, 1)])
def test_whole_numbers_stay_exact_where_k_is_very_large(
    k: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = []

    def multiply(*arguments: Any, **_: Any) -> SimpleNamespace:
        a, b = arguments[2:4]
        largest.append(max(abs(a).max(), abs(b).max()))
        return SimpleNamespace(arrays={"C": a @ b})

    monkeypatch.setattr(counting, "launch", multiply)
    assert count(load_kernel("naive"), (1, 1, k)).max_abs_error == 0.0
    assert largest == [most]
    assert most * most * k <= 2**24


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise MissingToolError("NVRTC is not installed.")

    def compiled(*_: object) -> None:
        raise AssertionError("nothing can be compiled here")

    monkeypatch.setattr(shipped_ptx, "load_nvrtc", absent)
    monkeypatch.setattr(shipped_ptx, "compile_to_ptx", compiled)


def test_shipped_ptx_takes_the_place_of_the_compiler(
    no_compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, size = load_kernel("sliding_window:BK=32"), (33, 31, 70)
    here = count(kernel, size)
    assert here.max_abs_error == 0.0
    assert len(list(check_simulated(kernel, [size]))) == 1
    monkeypatch.undo()
    shape = kernel.launch_shape(*size)
    compiled = multiply_whole_numbers(compile_to_ptx(kernel), shape, size)
    assert here.result.counts.total == compiled.result.counts.total


def test_a_kernel_edited_since_is_compiled() -> None:
    tiled = load_kernel("tiled")
    edited = replace(tiled, source=tiled.source.replace("acc = 0.0f", "acc = 1.0f"))
    assert kernel_ptx(tiled) == shipped_text(tiled)
    assert kernel_ptx(edited) == compile_to_ptx(edited) != kernel_ptx(tiled)


@pytest.mark.parametrize("name", ["tiled:TILE=8", "tiled"])
def test_without_the_compiler_other_kernels_and_targets_say_what_is_missing(
    no_compiler: None, name: str
) -> None:
    target = "sm_90" if ":" in name else "sm_80"
    with pytest.raises(MissingToolError, match=r"NVRTC is not installed\. Only the book's own"):
        kernel_ptx(load_kernel(name), target)


def made_by(ptx: str) -> str:
    """The line of a PTX text that names the compiler's version."""
    return next(line for line in ptx.splitlines() if "Cuda compilation tools" in line)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("kernel", shipped_kernels(), ids=lambda kernel: kernel.name)
def test_shipped_ptx_is_what_the_compiler_makes(kernel: Kernel) -> None:
    shipped, made = shipped_text(kernel), compile_to_ptx(kernel)
    if made_by(made) != made_by(shipped):
        pytest.skip(f"The text is by '{made_by(shipped)}', and NVRTC here is '{made_by(made)}'.")
    assert made == shipped, "run: make counts"


@pytest.mark.parametrize(
    ("name", "step", "stuck"), [("naive", "++k", "k += 0"), ("tiled", "k0 += TILE", "k0 += 0")]
)
def test_a_loop_without_end_is_a_fault_with_its_line(name: str, step: str, stuck: str) -> None:
    kernel = parse_kernel("mine", load_kernel(name).source.replace(step, stuck))
    (result,) = check_simulated(kernel, [(5, 5, 5)])
    assert result.fault is not None
    assert re.search(r"does not come to an end \(mine\.cu, line \d+\)\. Look", result.fault)
    with pytest.raises(LabError, match="does not come to an end"):
        trace_steps(kernel.with_constants(TILE=2) if name == "tiled" else kernel, (4, 4, 4))
    with pytest.raises(LabError, match="does not come to an end"):
        warp_requests(kernel, (8, 8, 8))
