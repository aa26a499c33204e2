"""The book's kernels by the pages' compiler, in the Python simulator, beside NVRTC's PTX."""

from functools import cache
from pathlib import Path

import pytest
from compiler_here import asked, compile_all, ptx_of

from sgemm_lab.checking import on_cpu
from sgemm_lab.checking.on_cpu import check_here
from sgemm_lab.counting.of_kernel import multiply_whole_numbers
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.shipped_ptx import settled_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import ENTRY, Kernel, Size, load_kernel, load_kernels, parse_kernel

KERNELS = load_kernels()
VARIANTS = [
    load_kernel(name)
    for name in (
        "tiled:TILE=16",
        "sliding_window:BK=128",
        "thread_tile_1d:BK=8",
        "register_cache:BM=128,BN=128,TM=8,TN=8",
        "one_column:TM=1",
        "window_barriers:BK=8,STAGES=8",
        "split_k:BN=128,TN=8,WN=64,STAGES=3",
    )
]
RUN = [kernel for kernel in (*KERNELS, *VARIANTS) if "barrier.cluster" not in kernel.source]
SIZES: list[Size] = [(1, 1, 1), (33, 17, 9), (64, 64, 64)]
WRONG = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.cu"))
NOT_COMPARED = {"warp_instructions", "thread_instructions", "lines"}
"""Instructions of the PTX, which are each compiler's own."""

ONES = "NVRTC multiplies the sums by one only where they are stored, clang before it asks where."
MERGED = "clang writes the loop out, and neighbours of several turns merge; NVRTC leaves it a loop."
KNOWN = "clang knows the address as a constant, so that ptxas can prove how it is aligned."
WARPS = "clang adds only in the first warp what NVRTC adds in all and throws away."

DIFFERENCES: dict[str, dict[str, str]] = {}
"""For each kernel the counts that the two compilers' PTX differs in, and why."""


@cache
def everything_compiled() -> None:
    """Compile all at once: Node starts once, and the compiler is read once."""
    wrong = [parse_kernel(path.stem, path.read_text()) for path in WRONG]
    compile_all([asked(kernel) for kernel in (*RUN, *wrong)])


@cache
def counts(kernel: Kernel, size: Size, *, by_clang: bool) -> dict[str, int]:
    if by_clang:
        everything_compiled()
    ptx = ptx_of(kernel) if by_clang else settled_ptx(kernel)
    shape, parts = kernel.launch_shape(*size), shared_parts(kernel)
    made = multiply_whole_numbers(ptx, ENTRY, shape, size, parts=parts, check_hazards=by_clang)
    assert made.wrong == 0
    assert made.result.hazards == []
    return made.result.counts.total.to_json()


@pytest.mark.parametrize("kernel", RUN, ids=lambda kernel: kernel.name)
def test_kernel_is_right_and_counts_as_by_nvrtc(kernel: Kernel) -> None:
    differing = set()
    for size in SIZES:
        clang, nvrtc = (counts(kernel, size, by_clang=here) for here in (True, False))
        differing |= {name for name in nvrtc if clang[name] != nvrtc[name]} - NOT_COMPARED
    assert differing == set(DIFFERENCES.get(kernel.name, {}))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_kernel_is_caught_by_the_same_fault(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything_compiled()
    kernel = parse_kernel(path.stem, path.read_text())
    sizes = [(35, 37, 33), (129, 130, 66)]
    by_nvrtc = [verdict.fault for verdict in check_here(kernel, sizes)]
    monkeypatch.setattr(on_cpu, "kernel_ptx", ptx_of)
    by_clang = [verdict.fault for verdict in check_here(kernel, sizes)]
    assert any(by_clang)
    assert by_clang == by_nvrtc


def test_blocks_of_a_cluster_are_refused_with_a_sentence() -> None:
    kernel = load_kernel("cluster_split")
    with pytest.raises(LabError, match=r"cluster_split\.cu, line \d+\. The simulator gives each"):
        counts(kernel, (1, 1, 1), by_clang=True)
