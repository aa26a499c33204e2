"""The smallest FP16 kernel of chapter 13, run by the simulator with the launch of its host code."""

import re

import numpy as np
import pytest
from sites import ROOT

from sgemm_lab.counting.kernel_counts import launch
from sgemm_lab.cuda.compiler import compile_to_ptx
from sgemm_lab.kernel import parse_kernel
from sgemm_lab.shared_code import with_shared_code

HEAD = """\
// title: The smallest FP16 kernel
// parent: wgmma_minimal
// change: FP16.
// chapter: 13
// grid: min(SMS, ceil(M / BM) * ceil(N / BN)), 1
// block: THREADS, 1
// shared: 2 * STAGES * BK * (BM + BN)
// map: mapA = fp16 A, M x K, pitch 2 * K, box BM x BK, swizzle 128
// map: mapB = fp16 B, K x N, pitch 2 * N, box BK x 64, swizzle 128
// needs: sm_90a
// arithmetic: fp16

constexpr int INPUT = 16;
#include "device.cuh"
"""


def listing() -> tuple[str, str]:
    """Return the kernel as a kernel of the book, and the host code."""
    text = (ROOT / "chapters" / "13_half_precision.md").read_text(encoding="utf-8")
    kernel, host = re.findall(r"```cuda\n(.*?)```", text, re.S)
    signature = "__global__ void __launch_bounds__(THREADS, 1)\n    product(float* C, "
    assert signature in kernel
    book = signature.replace("product(float* C,", "sgemm(const float* A, const float* B, float* C,")
    shared = (ROOT / "kernels" / "device.cuh").read_text(encoding="utf-8")
    return with_shared_code(HEAD + kernel.replace(signature, f'extern "C" {book}'), shared), host


@pytest.mark.parametrize("size", [(128, 256, 64), (300, 520, 328)])
def test_the_listing_multiplies_without_a_hazard(size: tuple[int, int, int]) -> None:
    kernel = parse_kernel("listing", listing()[0])
    m, n, k = size
    random = np.random.RandomState(1)
    a, b = (random.uniform(-0.5, 0.5, shape).astype("float16") for shape in ((m, k), (k, n)))
    found = launch(compile_to_ptx(kernel, "sm_90"), kernel.launch_shape(m, n, k, sms=2), a, b)
    right = a.astype(float) @ b.astype(float)
    assert np.linalg.norm(found.arrays["C"].reshape(m, n) - right) < 1e-6 * np.linalg.norm(right)
    assert found.hazards == []


def test_the_host_launches_what_was_run() -> None:
    host = listing()[1]
    assert "mapA = mapOf(A, M, K, BM, BK), mapB = mapOf(B, K, N, BK, 64);" in host
    assert "bytes = 2 * STAGES * BK * (BM + BN);" in host
    assert "product<<<tiles < sms ? tiles : sms, THREADS, bytes>>>(C, M, N, K, mapA, mapB);" in host
