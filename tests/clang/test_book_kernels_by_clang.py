"""The book's kernels by the pages' compiler, in the Python simulator, beside NVRTC's PTX."""

import re
from functools import cache
from pathlib import Path

import pytest
from compiler_here import ptx_of
from turns import TAKES_TURNS

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.checking import simulated
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.counting import launch_limits
from sgemm_lab.counting.kernel_counts import multiply_whole_numbers
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.shipped_ptx import archived_ptx
from sgemm_lab.kernel import Kernel, Size, parse_kernel

pytestmark = TAKES_TURNS

KERNELS = load_kernels()
VARIANTS = [
    load_kernel(name)
    for name in (
        "tiled:TILE=16",
        "sliding_window:BK=128",
        "thread_tile_1d:BK=8",
        "register_cache:BM=128,BN=128,TM=8,TN=8",
        "one_column:TM=1",
        "split_k:BN=128,TN=8,WN=64,STAGES=3",
    )
]
RUN = [
    kernel
    for kernel in (*KERNELS, *VARIANTS)
    if "barrier.cluster" not in kernel.source and "wgmma" not in kernel.source
]
SIZES: list[Size] = [(1, 1, 1), (33, 17, 9), (64, 64, 64)]
WRONG = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.cu"))
NOT_COMPARED = {"warp_instructions", "thread_instructions", "lines"}
"""Instructions of the PTX, which are each compiler's own."""

ONES = (
    "Sums leave multiplied by one. NVRTC writes the last part twice, for rows that are aligned and "
    "for others, and multiplies in the second only what it stores; clang multiplies before."
)
LANES = "In the last step of the tree of sums only lane 0 needs its sum: clang has it add alone."
UNROLLED = (
    "clang writes the loop over k out, so that loads of several turns can merge; NVRTC leaves it a "
    "loop, too long for ptxas to write out."
)
JOINED = (
    "One compiler merges loads of neighbours, and ptxas merges those of the other: in the machine "
    "code there are as many."
)
KNOWN = "clang knows the address as a constant, so that ptxas can prove how it is aligned."

MERGED_LOADS = ("shared_load_requests", "shared_load_wavefronts", "shared_load_bank_conflicts")
AS_WRITTEN = tuple(f"{name}_as_written" for name in MERGED_LOADS)
TIMES_ONE = (
    "double_buffer", "warp_tile", "unrolled", "hoisted_guard", "column_order", "async_copy",
    "stages", "register_prefetch", "serpentine", "small_tile", "producers",
)  # fmt: skip
DIFFERENCES: dict[str, dict[str, str]] = {
    **{name: {"flop": ONES} for name in TIMES_ONE},
    "promoted": dict.fromkeys(AS_WRITTEN, JOINED),
    **{name: {AS_WRITTEN[0]: JOINED} for name in ("split_k", "split_k:BN=128,TN=8,WN=64,STAGES=3")},
    "one_column": {"flop": LANES},
    "one_column:TM=1": {"flop": LANES, **dict.fromkeys(MERGED_LOADS[:2], KNOWN)},
    "register_cache:BM=128,BN=128,TM=8,TN=8": dict.fromkeys(MERGED_LOADS, UNROLLED),
}
"""For each kernel the counts in which the two compilers' PTX differs, and why."""


OTHER_FAULT = {
    "missing_filled_wait": "The same line reads too early. Which of its loads comes first, one of "
    "what another thread writes or of what nothing has written yet, is the compiler's choice."
}
"""Wrong kernels whose first fault differs, at the same line."""


@cache
def counts(kernel: Kernel, size: Size, *, by_clang: bool) -> dict[str, int]:
    ptx = ptx_of(kernel) if by_clang else archived_ptx(kernel)
    shape, parts = kernel.launch_shape(*size), shared_parts(kernel)
    made = multiply_whole_numbers(ptx, shape, size, shared_parts=parts, check_hazards=by_clang)
    assert made.wrong == 0
    assert made.result.hazards == []
    return made.result.counts.total.to_json()


@pytest.mark.parametrize("kernel", RUN, ids=lambda kernel: kernel.name)
@pytest.mark.sampled(every=16, first=6)
def test_kernel_is_right_and_counts_as_by_nvrtc(kernel: Kernel) -> None:
    differing = set()
    for size in SIZES:
        clang, nvrtc = (counts(kernel, size, by_clang=here) for here in (True, False))
        differing |= {name for name in nvrtc if clang[name] != nvrtc[name]} - NOT_COMPARED
    assert differing == set(DIFFERENCES.get(kernel.name, {}))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
@pytest.mark.sampled(every=5)
def test_wrong_kernel_is_caught_by_the_same_fault(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = parse_kernel(path.stem, path.read_text())
    sizes = [(35, 37, 33), (129, 130, 66)]
    by_nvrtc = [verdict.fault for verdict in check_simulated(kernel, sizes)]
    monkeypatch.setattr(simulated, "kernel_ptx", ptx_of)
    by_clang = [verdict.fault for verdict in check_simulated(kernel, sizes)]
    assert any(by_clang)
    assert by_clang == by_nvrtc or path.stem in OTHER_FAULT
    for clang, nvrtc in zip(by_clang, by_nvrtc, strict=True):
        assert str(clang).partition(":")[0] == str(nvrtc).partition(":")[0]


ACC = "    float acc = 0.0f;\n"
LONGEST_LOOP = 11
"""Lines of the loop over windows of ``tiled``."""


@pytest.mark.parametrize(
    ("book", "edit"),
    [
        ("++k)", "k += 0)"),
        ("k0 += TILE", "k0 += 0"),
        (ACC, f"for (int i = 0; i < N; i += 0);\n{ACC}"),
        (ACC, f"while (threadIdx.x < TILE);\n{ACC}"),
    ],
)
def test_a_loop_without_an_end_stays_one_and_is_told(
    book: str, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = load_kernel("tiled").source
    assert source.count(book) == 1
    kernel = parse_kernel("mine", source.replace(book, edit))
    monkeypatch.setattr(simulated, "kernel_ptx", ptx_of)
    monkeypatch.setattr(launch_limits, "MAX_BASIC_BLOCKS", 200)
    (verdict,) = check_simulated(kernel, [(9, 10, 11)])
    told = re.fullmatch(
        r"The kernel does not come to an end \(mine\.cu, line (\d+)\)\. Look at the loop "
        r"around that line: does its condition ever become false\?",
        verdict.fault or "",
    )
    assert told
    loop = kernel.source.partition(edit)[0].count("\n") + 1
    assert loop <= int(told[1]) <= loop + LONGEST_LOOP


def test_copies_of_running_sums_are_no_hazard() -> None:
    """Here the compiler copies the registers of products that run; NVRTC leaves them in place."""
    counts(load_kernel("wgmma_tf32"), (37, 22, 13), by_clang=True)
