"""Right kernels with unusual means, and each with one bug: judged as pasted, without an option."""

import re

import pytest
from foreign_samples import FOLDER
from turns import TAKES_TURNS

from sgemm_lab.external_cuda import ExternalKernel, KernelReport, Pasted, check_file
from sgemm_lab.external_cuda.findings import ENDLESS, WRONG_RESULT
from sgemm_lab.simulator.hazards import (
    BARRIER,
    EXCHANGE,
    IN_FLIGHT,
    OUT_OF_BOUNDS,
    RACE,
    UNSET,
    UNWRITTEN,
)

pytestmark = TAKES_TURNS

TEXT = (FOLDER / "unusual.cu").read_text(encoding="utf-8")
KERNELS = re.findall(r"^__global__ void (\w+)\(", TEXT, re.M)

BUGS: list[tuple[str, str, str, str]] = [
    ("three_stages", "WAIT(1);", "WAIT(2);", IN_FLIGHT),
    ("three_stages", "if (s + 2 < steps) copy16(&ring[(s + 2) % 3][t]",
     "if (s + 2 < steps) copy16(&ring[(s + 1) % 3][t]", IN_FLIGHT),
    ("three_stages", "x + s * 32 + t); COMMIT; }", "x + s * 32 + t); }", IN_FLIGHT),
    ("three_stages", "if (s + 2 < steps) copy", "copy", OUT_OF_BOUNDS),
    ("producer_consumer", "turn ^ 1", "turn", ENDLESS),
    ("producer_consumer", "            await(empty + i, turn ^ 1);\n", "", RACE),
    ("producer_consumer", "await(full + i, turn)", "await(full + i, 0)", ENDLESS),
    ("producer_consumer", "slot[2][32]", "slot[1][32]", OUT_OF_BOUNDS),
    ("producer_consumer", "init(full + i, 32); init", "init(full + i, 31); init", BARRIER),
    ("named_barriers", "threadIdx.x ^ 63", "threadIdx.x ^ 64", RACE),
    ("named_barriers", "threadIdx.x / 64 + 1", "threadIdx.x / 32 + 1", BARRIER),
    ("warp_tree",
     "    __syncwarp();\n    for (int d = 16; d > 0; d >>= 1) {\n        if (lane < d) s",
     "    for (int d = 16; d > 0; d >>= 1) {\n        if (lane < d) s", RACE),
    ("warp_tree", "if (lane < d) s[t] = s", "s[t] = s", OUT_OF_BOUNDS),
    ("chained_scan", "        __threadfence();\n        atomicExch(&ready",
     "        atomicExch(&ready", RACE),
    ("chained_scan", "while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) { }", "", RACE),
    ("chained_scan", "    __syncthreads();\n    y[blockIdx.x * 32 + threadIdx.x] = before",
     "    y[blockIdx.x * 32 + threadIdx.x] = before", RACE),
    ("last_block", "        __threadfence();\n        last", "        last", RACE),
    ("last_block", "    __syncwarp();\n    if (last", "    if (last", RACE),
    ("locked_sum", "while (atomicCAS(&mutex, 0, 1)) __nanosleep(20);", "", RACE),
    ("locked_sum", "        __threadfence();\n        atomicExch(&mutex, 0);", "", ENDLESS),
    ("dynamic_rows", "        int mine = row;\n        __syncthreads();", "        int mine = row;",
     RACE),
    ("dynamic_rows", "if (mine >= rows) break;", "if (mine > 32) break;", OUT_OF_BOUNDS),
    ("any_above", "found = true;\n    __syncthreads();", "found = true;", RACE),
    ("groups_of_equal", "atomicAdd(c + key, __popc(peers))", "c[key] += __popc(peers)", RACE),
    ("compact", "        if (v > 0) c[to] = v;\n        __syncthreads();",
     "        if (v > 0) c[to] = v;", RACE),
    ("compact", "if (w < warp) to += offset[w]; base", "if (w <= warp) to += offset[w]; base",
     RACE),
    ("top_kernel", "best = fmaxf(best, __shfl_xor_sync(FULL, best, d));\n        last",
     "best = fmaxf(best, __shfl_xor_sync(FULL, best, d, 16));\n        last", WRONG_RESULT),
    ("top_kernel", "if (x[i] < last) best", "if (x[i] <= last) best", WRONG_RESULT),
    ("attention", "float most = -1e30f, sum = 0, out = 0;\n    for (int j = 0; j < keys",
     "float most = -1e30f, sum, out = 0;\n    for (int j = 0; j < keys", UNSET),
    ("swizzled_transpose", "__shared__ float tile[32 * 32]", "__shared__ float tile[32 * 31]",
     OUT_OF_BOUNDS),
    ("swizzled_transpose", "r += 8) tile", "r += 16) tile", UNWRITTEN),
    ("plane_queue", "z + 1 < depth ? x", "z < depth ? x", OUT_OF_BOUNDS),
    ("five_taps", "if (t < 2) {", "if (t < 1) {", UNWRITTEN),
    ("five_taps", "132 * sizeof(float)", "130 * sizeof(float)", OUT_OF_BOUNDS),
    ("five_taps", "taps[j] * line", "taps[j + 1] * line", OUT_OF_BOUNDS),
    ("warp_histograms", "__shared__ int own[4][16]", "__shared__ int own[3][16]", OUT_OF_BOUNDS),
    ("warp_histograms", "atomicAdd(&own[warp][b[i] >> 4], 1)", "own[warp][b[i] >> 4]++", RACE),
    ("csr_rows", "if (lane == 0) y[row] = sum", "y[row] = sum", RACE),
    ("softmax_rows", "sum = s; }\n    }\n    __syncthreads();", "sum = s; }\n    }", RACE),
    ("softmax_rows", "m = fmaxf(m, __shfl_xor_sync(FULL, m, d));\n        for",
     "m = fmaxf(m, __shfl_down_sync(FULL, m, d / 2));\n        for", WRONG_RESULT),
    ("softmax_rows", "s += __shfl_xor_sync(FULL, s, d);\n        if",
     "s += __shfl_xor_sync(FULL, s, 1);\n        if", WRONG_RESULT),
    ("split_bit", "__shared__ int zeros[8], from[8]", "__shared__ int zeros[8], from[7]",
     OUT_OF_BOUNDS),
    ("split_bit", "all + t - rank", "all + rank", RACE),
    ("odd_even_sort", "        __syncthreads();\n        if (t + 1", "        if (t + 1", RACE),
    ("odd_even_sort", "t + 1 < 128 && (t & 1) == (round & 1)", "t + 1 < 128", RACE),
    ("odd_even_sort", "if (t + 1 < 128 && (t", "if ((t", OUT_OF_BOUNDS),
    ("bitset", "atomicOr(&c[(k[i] & 255) / 32], 1u << (k[i] & 31))",
     "c[(k[i] & 255) / 32] |= 1u << (k[i] & 31)", RACE),
    ("reused", "    __syncthreads();\n    w.i", "    w.i", RACE),
    ("wide_scan", "if (lane == 31) sums[t >> 5] = v;", "if (lane == 31) sums[t >> 6] = v;", RACE),
    ("mma_tile", "    __syncwarp();\n    unsigned r", "    unsigned r", RACE),
    ("half_warps", "__shfl_xor_sync(0xffff0000, v, 8)", "__shfl_xor_sync(FULL, v, 8)", EXCHANGE),
    ("half_warps", "__shfl_xor_sync(0x0000ffff, v", "__shfl_xor_sync(0x000000ff, v", EXCHANGE),
]  # fmt: skip
"""Kernel, the text that is replaced, the bug, and the kind of finding that names it."""


def alone(kernel: str, text: str) -> str:
    """Return the file without the other kernels and without their launches."""
    text = re.sub(
        r"^__global__ void (\w+)\(.*?^}\n", lambda found: found[0] * (found[1] == kernel), text,
        flags=re.M | re.S,
    )  # fmt: skip
    return re.sub(
        r"^    (\w+)<<<.*\n", lambda found: found[0] * (found[1] == kernel), text, flags=re.M
    )


def judged(kernel: str, old: str = "", new: str = "") -> KernelReport:
    assert TEXT.count(old) == 1 or not old, old
    text = alone(kernel, TEXT.replace(old, new) if old else TEXT)
    pasted = ExternalKernel(Pasted("unusual.cu", text, FOLDER, kernel))
    (report,) = check_file(pasted)
    return report


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.sampled(every=8)
def test_no_right_kernel_is_called_wrong(kernel: str) -> None:
    report = judged(kernel)
    assert report.verdict in ("right", "no fault found")
    assert {one.severity for one in report.findings} <= {"information"}


@pytest.mark.parametrize(
    ("kernel", "old", "new", "kind"),
    [pytest.param(*one, id=f"{one[0]} {number}") for number, one in enumerate(BUGS)],
)
@pytest.mark.sampled(every=8)
def test_a_wrong_kernel_is_rejected_as_pasted(kernel: str, old: str, new: str, kind: str) -> None:
    report = judged(kernel, old, new)
    # A store to a place that numbers of the input decide, or a value that nothing wrote, may be
    # meant so: a warning.
    assert report.verdict in ("wrong", "would be wrong")
    assert kind in {one.kind for one in report.findings}
