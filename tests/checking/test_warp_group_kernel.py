"""A kernel with tensor maps and a warp group: from its head comment to the verdict."""

from collections.abc import Callable

import pytest
from compiler_here import ptx_of as by_clang

from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.simulator import worker

N = 64
_SUMS = ", ".join(f"%{i}" for i in range(N // 2))
_GIVEN = ", ".join(f'"+f"(d[{i}])' for i in range(N // 2))
_FACTORS = f"%{N // 2}, %{N // 2 + 1}"
_BOX = "box BK x BN, swizzle 128"
SOURCE = f"""\
// title: One warp group
// parent: none
// chapter: 12
// grid: 1, 1
// block: 128, 1
// shared: 2 * BK * (BM + BN)
// workspace: 256 + 2 * (M * 8 * ceil(K / 8) + K * 8 * ceil(N / 8))
// map: mapA = fp16 workspace + 256, M x K, pitch 16 * ceil(K / 8), box BM x BK, swizzle 128
// map: mapB = fp16 workspace + 256 + 16 * M * ceil(K / 8), K x N, pitch 16 * ceil(N / 8), {_BOX}
// needs: sm_90a
// arithmetic: fp16
//
// One block rounds A and B to FP16 and multiplies tile after tile.

constexpr int BM = 64;  // rows of C
constexpr int BN = {N};  // columns of C
constexpr int BK = 64;  // depth of a K tile

struct alignas(64) TensorMap {{ unsigned long long words[16]; }};
__device__ unsigned inShared(const void* x) {{ return unsigned(__cvta_generic_to_shared(x)); }}
__device__ void copyTile(void* to, const TensorMap& map, int x, int y, void* barrier)
{{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {{%2, %3}}], [%4];" ::"r"(inShared(to)), "l"(&map), "r"(x), "r"(y),
                 "r"(inShared(barrier)) : "memory");
}}
__device__ unsigned long long describe(const void* x, int lead)
{{
    return (inShared(x) & 0x3FFFF) >> 4 | (unsigned long long)(lead >> 4) << 16 | 64ull << 32
         | 1ull << 62;
}}
__device__ void multiply(float (&d)[BN / 2], unsigned long long a, unsigned long long b, int add)
{{
    asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{N // 2 + 2}, 0; "
        "wgmma.mma_async.sync.aligned.m64n{N}k16.f32.f16.f16 {{{_SUMS}}}, {_FACTORS}, "
        "p, 1, 1, 0, 1; }}" : {_GIVEN} : "l"(a), "l"(b), "r"(add));
}}
__device__ unsigned short half(float x)
{{
    unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h;
}}

extern "C" __global__ void __launch_bounds__(128)
    sgemm(const float* A, const float* B, float* C, int M, int N, int K, unsigned char* workspace,
          const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB)
{{
    extern __shared__ __align__(1024) unsigned short shared[];
    auto& As = *reinterpret_cast<unsigned short(*)[BM][BK]>(shared);
    auto& Bs = *reinterpret_cast<unsigned short(*)[BK][BN]>(&As[BM]);
    __shared__ unsigned long long filled;
    const int tid = threadIdx.x, pitchA = (K + 7) / 8 * 8, pitchB = (N + 7) / 8 * 8;
    unsigned short* halfA = reinterpret_cast<unsigned short*>(workspace + 256);
    unsigned short* halfB = halfA + M * pitchA;
    for (int i = tid; i < M * K; i += 128) halfA[i / K * pitchA + i % K] = half(A[i]);
    for (int i = tid; i < K * N; i += 128) halfB[i / N * pitchB + i % N] = half(B[i]);
    if (tid == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(inShared(&filled)));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    int phase = 0;
    for (int row = 0; row < M; row += BM) for (int col = 0; col < N; col += BN) {{
        float d[BN / 2];
        for (int k = 0; k < K; k += BK) {{
            if (tid == 0) {{
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                             ::"r"(inShared(&filled)), "r"(2 * BK * (BM + BN)) : "memory");
                copyTile(As, mapA, k, row, &filled);
                copyTile(Bs, mapB, col, k, &filled);
            }}
            asm volatile("{{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, "
                         "[%0], %1; @!over bra again; }}"
                         ::"r"(inShared(&filled)), "r"(phase) : "memory");
            phase ^= 1;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (int s = 0; s < BK / 16; ++s)
                multiply(d, describe(&As[0][16 * s], 16), describe(&Bs[16 * s][0], 16), k + s > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            __syncthreads();
        }}
        for (int i = 0; i < BN / 2; ++i) {{
            const int r = row + tid / 32 * 16 + tid % 32 / 4 + i / 2 % 2 * 8;
            const int c = col + i / 4 * 8 + tid % 4 * 2 + i % 2;
            if (r < M && c < N) C[r * N + c] = d[i];
        }}
    }}
}}
"""
SIZES = [(1, 1, 1), (70, 67, 130)]
WRONG = {
    "wgmma.wait_group.sync.aligned 0": ("wgmma.wait_group.sync.aligned 1", "uses a sum"),
    "wgmma.fence.sync": ("", "wgmma.fence before the first product"),
    "k + s > 0": ("s > 0", "wrong on whole numbers"),
    "64ull << 32": ("32ull << 32", "wrong on whole numbers"),
    "p, 1, 1, 0, 1;": ("p, 1, 1, 0, 0;", "of shared, which has"),
    "swizzle 128\n// needs": ("swizzle 0\n// needs", "wrong on whole numbers"),
}
"""Changes that make the kernel wrong, and what the verdict says of each."""


def changed(old: str) -> str:
    """The source with one of the changes of ``WRONG``."""
    assert SOURCE.count(old) == 1
    if old == "wgmma.fence.sync":
        return SOURCE.replace('asm volatile("wgmma.fence.sync.aligned;" ::: "memory");', "")
    return SOURCE.replace(old, WRONG[old][0])


def faults(source: str, compiled: Callable[[Kernel], str] = kernel_ptx) -> list[str | None]:
    """The faults at each size."""
    given = {"kernel": "mine", "source": source, "ptx": compiled(parse_kernel("mine", source))}
    found = [worker.ask("check", {**given, "size": size})["result"] for size in SIZES]
    return [one["fault"] or one["refusal"] for one in found]


@pytest.mark.parametrize("compiled", [kernel_ptx, by_clang])
def test_the_kernel_is_right(compiled: Callable[[Kernel], str]) -> None:
    assert faults(SOURCE, compiled) == [None, None]


@pytest.mark.parametrize("compiled", [kernel_ptx, by_clang])
@pytest.mark.parametrize("old", WRONG)
def test_a_wrong_kernel_is_caught(old: str, compiled: Callable[[Kernel], str]) -> None:
    found = faults(changed(old), compiled)
    assert any(WRONG[old][1] in (fault or "") for fault in found)
