"""Device functions that are called, variables of the module, structs as arguments, stops."""

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import simulate

DEEPEST = 24
"""How often a function may call itself."""

CALLS = """
struct P3 { float x, y, z; };
__device__ __noinline__ float f(float x, int n) { if (n < 3) return x; return x * n; }
__device__ __noinline__ P3 g(P3 p, float4 v, float* out) {
    p.x += f(p.y, 5) + v.w;
    out[0] = p.z;
    return p;
}
__device__ int down(int n) { return n <= 0 ? 0 : 1 + down(n - 1) * (n & 1) + down(n - 2); }
__device__ unsigned gcd(unsigned a, unsigned b) { return b == 0 ? a : gcd(b, a % b); }
extern "C" __global__ void k(P3 q, float* o, int* r) {
    int i = threadIdx.x;
    float local[2] = {0, 0};
    P3 s = g(q, make_float4(i, i, i, i), local + (i & 1));
    o[i] = s.x + 10 * local[0] + 100 * local[1];
    r[i] = down(i % 3) + 1000 * gcd(i * 6, 9);
}"""

VARIABLES = """
__constant__ float coef[4];
__constant__ int shift = -7;
__device__ float table[3] = {1.5f, 2.0f, -3.0f};
__device__ unsigned counter;
namespace inner { __device__ double pair[2]; }
__device__ float* where = table;
extern "C" __global__ void k(float* o) {
    int i = threadIdx.x;
    o[i] = coef[i % 4] + shift + where[i % 3];
    inner::pair[i & 1] = i;
    atomicAdd(&counter, 2u);
}"""


def test_functions_are_written_out_where_they_are_called() -> None:
    q = {"bytes": 12, "fields": [(4 * n, "xyz"[n], np.array(n + 1, "f4")) for n in range(3)]}
    o, r = np.zeros(32, "f4"), np.zeros(32, "i4")
    found = simulate(ptx_of(CALLS), "k", (1,), (32,), {"q": q, "o": o, "r": r})
    i = np.arange(32)

    def down(n: int) -> int:
        return 0 if n <= 0 else 1 + down(n - 1) * (n & 1) + down(n - 2)

    assert found.arrays["o"].tolist() == (11 + i + 3 * np.where(i & 1, 100, 10)).tolist()
    right = [down(n % 3) + 1000 * int(np.gcd(6 * n, 9)) for n in range(32)]
    assert found.arrays["r"].tolist() == right
    assert found.hazards == []
    # What goes from caller to callee is no request of memory.
    assert found.counts.total.global_load_requests == 0
    assert found.counts.total.global_store_requests == 2


def test_a_recursion_that_is_too_deep_is_a_sentence() -> None:
    source = """
    __device__ __noinline__ int deep(int n, int* o) {
        if (n == 0) return 0;
        o[n] = n;
        return deep(n - 1, o) + o[n - 1];
    }
    extern "C" __global__ void k(int* o, int n) { o[0] = deep(n, o); }"""
    ptx = ptx_of(source)
    found = simulate(ptx, "k", (1,), (1,), {"o": np.zeros(64, "i4"), "n": DEEPEST - 1})
    assert found.arrays["o"][5] == 5
    with pytest.raises(LabError, match=f"called itself more than {DEEPEST} levels deep"):
        simulate(ptx, "k", (1,), (1,), {"o": np.zeros(64, "i4"), "n": DEEPEST + 5})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "o[0] = *new float(1);",
            r"At test\.cu, line 3 the kernel calls 'malloc', whose body is not in the file",
        ),
        (
            "float (*f)(float) = o[0] > 0 ? a : b; o[0] = f(o[1]);",
            r"At test\.cu, line 3 the kernel calls a function through a pointer",
        ),
        ('if (threadIdx.x == 3) asm("trap;");', "reached a trap.*test.cu, line 3"),
    ],
)
def test_what_only_a_gpu_does_is_a_sentence(body: str, reason: str) -> None:
    source = f"""__device__ __noinline__ float a(float x) {{ return x; }}
__device__ __noinline__ float b(float x) {{ return -x; }}
extern "C" __global__ void k(float* o) {{ {body} }}"""
    with pytest.raises(LabError, match=reason):
        simulate(ptx_of(source), "k", (1,), (32,), {"o": np.zeros(32, "f4")})


def test_variables_start_as_the_source_says_and_can_be_set() -> None:
    coef = np.array([10, 20, 30, 40], "f4")
    found = simulate(
        ptx_of(VARIABLES), "k", (2,), (32,), {"o": np.zeros(32, "f4")}, variables={"coef": coef}
    )
    i = np.arange(32)
    table = np.array([1.5, 2.0, -3.0])
    assert found.arrays["o"].tolist() == (coef[i % 4] - 7 + table[i % 3]).tolist()
    assert found.arrays["counter"].tolist() == [128]
    assert found.arrays["_ZN5inner4pairE"].view("f8").tolist() == [30.0, 31.0]
    # The cache of constants has counters of its own.
    assert found.counts.total.global_load_requests == 2 * 2


def test_an_index_past_a_variable_is_outside() -> None:
    source = '__device__ int a[40]; extern "C" __global__ void k() { a[threadIdx.x + 20] = 1; }'
    (hazard,) = simulate(ptx_of(source), "k", (1,), (32,), {}).hazards
    assert "writes element 40 of a, which has 40 elements" in str(hazard)


def test_a_pointer_that_a_called_function_follows_is_told_by_the_line_there() -> None:
    source = """__device__ float (*chosen)(float);
__device__ __noinline__ float through(float x) {
    float twice = 2 * x;
    return chosen(twice) + 1;
}
extern "C" __global__ void k(float* o) { o[0] = through(o[1]); }"""
    with pytest.raises(LabError, match=r"At test\.cu, line 4 the kernel calls a function through"):
        simulate(ptx_of(source), "k", (1,), (32,), {"o": np.zeros(32, "f4")})
