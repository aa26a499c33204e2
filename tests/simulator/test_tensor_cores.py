import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.simulator import PtxError, simulate

# Loads A (16 × 16) and B (16 × 8, row-major) with ldmatrix, multiplies, stores C.
HALF = """
extern "C" __global__ void k(const TYPE* A, const TYPE* B, float* C) {
    __shared__ __align__(16) TYPE As[16][16];
    __shared__ __align__(16) TYPE Bs[16][8];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) As[i / 16][i % 16] = A[i];
    for (int i = lane; i < 128; i += 32) Bs[i / 8][i % 8] = B[i];
    __syncthreads();
    unsigned a[4], b[2];
    unsigned from = (unsigned)__cvta_generic_to_shared(&As[lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
    from = (unsigned)__cvta_generic_to_shared(&Bs[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(from));
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) C[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
"""

TF32 = """
extern "C" __global__ void k(const float* A, const float* B, float* C) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(A[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(B[(t + i * 4) * 8 + g]);
    float c[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}
"""


def small_integers(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Exact in every format, and so are all sums of products."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_ldmatrix_and_mma_of_16_bit_types(name: str) -> None:
    a, b = small_integers((16, 16), 1), small_integers((16, 8), 2)
    if name == "f16":
        raw = [matrix.astype(np.float16).view(np.uint16) for matrix in (a, b)]
    else:
        raw = [(matrix.view(np.uint32) >> 16).astype(np.uint16) for matrix in (a, b)]
    ptx = ptx_of(HALF, "sm_80", "TYPE=unsigned short", f'NAME="{name}"')
    args = {"A": raw[0], "B": raw[1], "C": np.zeros((16, 8), dtype=np.float32)}
    result = simulate(ptx, "k", (1,), (32,), args)
    assert np.array_equal(result.arrays["C"], a @ b + 1)
    assert result.hazards == []
    assert result.counts.total.flop == 2 * 16 * 8 * 16
    # Rows of 32 bytes: each 8-row matrix of A takes 2 wavefronts, each of B takes 1.
    assert result.counts.total.shared_load_wavefronts == 4 * 2 + 2
    assert result.counts.total.shared_load_requests == 2


def test_mma_of_tf32_ignores_the_low_bits() -> None:
    a, b = small_integers((16, 8), 3), small_integers((8, 8), 4)
    args = {"A": a * np.float32(1 + 2.0**-20), "B": b, "C": np.zeros((16, 8), dtype=np.float32)}
    result = simulate(ptx_of(TF32, "sm_80"), "k", (1,), (32,), args)
    assert np.array_equal(result.arrays["C"], a @ b)
    assert result.counts.total.flop == 2 * 16 * 8 * 8


def test_ldmatrix_needs_the_whole_warp() -> None:
    source = HALF.replace("unsigned from =", "if (lane > 7) return;\n    unsigned from =")
    args = {
        "A": np.zeros((16, 16), dtype=np.uint16),
        "B": np.zeros((16, 8), dtype=np.uint16),
        "C": np.zeros((16, 8), dtype=np.float32),
    }
    with pytest.raises(PtxError, match="needs all 32 lanes"):
        simulate(
            ptx_of(source, "sm_80", "TYPE=unsigned short", 'NAME="f16"'), "k", (1,), (32,), args
        )
