"""The widths found in the PTX against the machine code, as ``nvdisasm`` prints it."""

import random
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import pytest
from inside import inside
from simulator_kernels import GEMMS, compile_for, ptx_of
from turns import TAKES_TURNS

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cuda.machine_code import disassemble
from sgemm_lab.kernel import Kernel

pytestmark = TAKES_TURNS

HEAD = """
extern "C" __global__ void {name}(const float* A, float* C, int n) {{
    int t = threadIdx.x;
"""
FILL = "__shared__ float s[256]; s[t] = A[t]; __syncthreads(); int i = 4 * (t & 31);"
ROWS = "for (int r = 0; r < 8; ++r) s[r][t & 31] = A[t + 32 * r]; __syncthreads(); float x = 0;"
UNROLL = "\n#pragma unroll\n"

SNIPPETS = {
    "four words": FILL + "C[t] = s[i] + s[i + 1] * s[i + 2] + s[i + 3];",
    "three low words": FILL + "C[t] = s[i] + s[i + 1] * s[i + 2];",
    "three with a hole": FILL + "C[t] = s[i] + s[i + 1] * s[i + 3];",
    "two apart": FILL + "C[t] = s[i] + s[i + 2];",
    "not aligned": FILL + "C[t] = s[t] + s[t + 1] * s[t + 2] + s[t + 3];",
    "store between": FILL + "float a = s[i]; s[t + 128] = a; C[t] = a + s[i + 1];",
    "other array stored": FILL
    + "__shared__ float q[256]; float a = s[i]; q[t] = a; float b = s[i + 1];"
    + "__syncthreads(); C[t] = a + b + q[t ^ 1];",
    "wide as written": "__shared__ __align__(16) float s[256]; s[t] = A[t]; __syncthreads();"
    "C[t] = reinterpret_cast<float4*>(s)[t & 31].y;",
    "array at an odd place": "__shared__ float p[3]; __shared__ float s[253]; s[t] = A[t];"
    "p[t % 3] = A[t + 5]; __syncthreads(); int i = 4 * (t & 31);"
    "C[t] = s[i] + s[i + 1] * s[i + 2] + s[i + 3] + p[(t + 1) % 3];",
    "constant addresses": "__shared__ float p[2]; __shared__ float s[2]; s[t & 1] = A[t];"
    "p[t & 1] = A[t + 5]; __syncthreads(); C[t] = s[0] + s[1] + p[0] * p[1];",
    "six of a row": "__shared__ float s[8][128];" + ROWS + UNROLL + "for (int r = 0; r < 8; ++r)"
    "for (int j = 0; j < 6; ++j) x += s[r][t % 16 * 6 + j]; C[t] = x;",
    "loop that stays a loop": "__shared__ float s[8][32];" + ROWS + "\n#pragma unroll 1\n"
    "for (int j = 0; j < 32; j += 2) x += s[t & 7][j] * s[t & 7][j + 1]; C[t] = x;",
    "run-time multiple": FILL + "int j = 4 * n + 4 * t;"
    "C[t] = s[j] + s[j + 1] * s[j + 2] + s[j + 3];",
}

FOUR = "__shared__ float s[1024]; int i = 4 * t; float4 v = ((const float4*)A)[t];"
OTHER = "__shared__ float q[1024]; q[t] = A[t + 9]; __syncthreads();"
LOW = "s[i] = v.x; s[i + 1] = v.y;"
HIGH = "s[i + 2] = v.z; s[i + 3] = v.w;"
READ = "__syncthreads(); C[t] = s[(7 * t) & 511]; C[t + 300] = s[(11 * t) & 511];"

STORES = {
    "four words": FOUR + LOW + HIGH,
    "four words, high ones first": FOUR + HIGH + LOW,
    "values that come one by one": FOUR + "s[i] = A[t]; s[i + 1] = A[t + 40]; s[i + 2] = A[t + 80];"
    "s[i + 3] = A[t + 120];",
    "three low words": FOUR + LOW + "s[i + 2] = v.z;",
    "two apart": FOUR + "s[i] = v.x; s[i + 2] = v.z;",
    "eight words": FOUR + "i = 8 * t;" + LOW + HIGH + "s[i + 4] = v.y; s[i + 5] = v.x;"
    "s[i + 6] = v.w; s[i + 7] = v.z;",
    "seven words": FOUR + "i = 8 * t; s[i + 1] = v.y;" + HIGH + "s[i + 4] = v.y; s[i + 5] = v.x;"
    "s[i + 6] = v.w; s[i + 7] = v.z;",
    "not aligned": FOUR + "i = t;" + LOW + HIGH,
    "pairs as written": FOUR + "*(float2*)&s[i] = make_float2(v.x, v.y);"
    "*(float2*)&s[i + 2] = make_float2(v.z, v.w);",
    "two words, then a pair": FOUR + LOW + "*(float2*)&s[i + 2] = make_float2(v.z, v.w);",
    "doubles": "__shared__ double s[512]; int i = 2 * t; s[i] = A[t]; s[i + 1] = A[t + 5];",
    "volatile": FOUR.replace("float s", "volatile float s") + LOW + HIGH,
    "constant addresses": FOUR + "if (t == 0) { s[0] = v.x; s[1] = v.y; s[2] = v.z; s[3] = v.w; }",
    "other array stored between": FOUR + OTHER + LOW + "q[t] = v.x;" + HIGH + "C[t + 9] = q[t];",
    "same array stored between": FOUR + LOW + "s[i + 512] = v.x;" + HIGH,
    "other array loaded between": FOUR
    + OTHER
    + LOW
    + "float z = q[t ^ 1];"
    + HIGH
    + "C[t + 9] = z;",
    "barrier between": FOUR + LOW + "__syncthreads();" + HIGH,
    "fence between": FOUR + LOW + "__threadfence_block();" + HIGH,
    "atomic between": FOUR + "__shared__ int q;" + LOW + "atomicAdd(&q, 1);" + HIGH,
    "global store between": FOUR + LOW + "C[t + 777] = v.x;" + HIGH,
    "exclusive or": FOUR + "i ^= (t & 7) << 3;" + LOW + HIGH,
    "run-time multiple": FOUR + "i = 4 * (t + n);" + LOW + HIGH,
}


def machine_code(source: str, entry: str) -> str:
    listing = disassemble(compile_for(source, "sm_90"))
    return listing.partition(f"\n.text.{entry}:")[2].partition("\n.text.")[0]


def widths(code: str, opcode: str) -> Counter[int]:
    """Bytes per lane of each machine instruction with an opcode such as LDS; 4 for less too."""
    found: Counter[int] = Counter()
    # ptxas puts loads into no register (RZ) beside asynchronous copies; they never run.
    for modifiers in re.findall(rf"\b{opcode}((?:\.\w+)*) (?!RZ)", code):
        wide = re.search(r"\.(64|128)\b", modifiers)
        found[int(wide[1]) // 8 if wide else 4] += 1
    return found


@lru_cache(maxsize=8)
def _widths(source: str, space: str, as_compiled: bool) -> dict[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, dict[str, int]]] = inside(
        "widths", ptx_of(source), space, as_compiled
    )
    return found


def _counted(source: str, entry: str, opcode: str, space: str, as_compiled: bool) -> Counter[int]:
    kind = {"LD": "ld", "ST": "st"}[opcode[:2]]
    found = _widths(source, space, as_compiled)[entry][kind]
    return Counter({int(width): count for width, count in found.items()})


def predicted(source: str, entry: str, opcode: str) -> Counter[int]:
    """Bytes per lane of the shared loads (LDS) or stores (STS) that the simulator counts."""
    return _counted(source, entry, opcode, "shared", True)


def as_written(source: str, entry: str, opcode: str) -> Counter[int]:
    """Bytes per lane of the global loads (LDG) or stores (STG) of the PTX."""
    return _counted(source, entry, opcode, "global", False)


def as_kernels(bodies: Iterable[str]) -> str:
    """Return one source with kernels k0, k1, …: NVIDIA's tools take most time to begin."""
    return "".join(
        HEAD.format(name=f"k{number}") + body + "\n}" for number, body in enumerate(bodies)
    )


LOADING = as_kernels(SNIPPETS.values())
STORING = as_kernels(body + READ for body in STORES.values())


@pytest.mark.parametrize(("number", "name"), list(enumerate(SNIPPETS)), ids=SNIPPETS)
def test_shared_loads_merge_as_in_machine_code(number: int, name: str) -> None:
    entry = f"k{number}"
    assert predicted(LOADING, entry, "LDS") == widths(machine_code(LOADING, entry), "LDS"), name


@pytest.mark.parametrize(("number", "name"), list(enumerate(STORES)), ids=STORES)
def test_shared_stores_merge_as_in_machine_code(number: int, name: str) -> None:
    entry = f"k{number}"
    assert predicted(STORING, entry, "STS") == widths(machine_code(STORING, entry), "STS"), name


def test_stores_in_any_order_merge_as_in_machine_code() -> None:
    # 200 kernels in one source: each stores some words of 12, in a random order.
    chosen = random.Random(4)
    orders = [chosen.sample(range(12), chosen.randint(2, 12)) for _ in range(30)]
    orders += [chosen.sample(range(4), chosen.randint(2, 4)) for _ in range(30)]
    source = as_kernels(
        "__shared__ __align__(16) float s[4096]; float* p = &s[16 * t];"
        + "".join(f"p[{word}] = A[t + {37 * word}];" for word in order)
        + READ
        for order in orders
    )
    for number in range(len(orders)):
        code = machine_code(source, f"k{number}")
        assert predicted(source, f"k{number}", "STS") == widths(code, "STS"), orders[number]


@pytest.mark.parametrize("name", ["naive", "tiled", "thread_tile", "async"])
def test_gemm_kernels_agree(name: str) -> None:
    source = GEMMS[name][0]
    code = machine_code(source, name)
    assert predicted(source, name, "LDS") == widths(code, "LDS")
    assert predicted(source, name, "STS") == widths(code, "STS")


def test_global_accesses_stay_as_written() -> None:
    source = GEMMS["thread_tile"][0]
    code = machine_code(source, "thread_tile")
    for opcode in ("LDG", "STG"):
        assert widths(code, opcode) == as_written(source, "thread_tile", opcode)


def unrolled(source: str) -> str:
    """With the loop along a tile's k unrolled in the source, so that PTX and ptxas agree."""
    return re.sub(r"\n( *for \(int k = 0; k < \w+; \+\+k\))", r"\n#pragma unroll\n\1", source)


COMPILED = [
    kernel
    for kernel in load_kernels()
    if kernel.needs != "sm_90a" and "barrier.cluster" not in kernel.source
]
"""Kernels for the target of these tests, sm_90, with instructions that the simulator knows."""
REPEATED = {"strip": {"STS"}, "one_row": {"LDS", "STS"}}
"""Where ptxas repeats the body of a loop that stays a loop in the PTX: what is in such loops."""


@pytest.mark.parametrize("kernel", COMPILED, ids=lambda kernel: kernel.name)
@pytest.mark.sampled(every=16, first=8)
def test_kernels_of_the_book_agree(kernel: Kernel) -> None:
    source = unrolled(kernel.source)
    code = machine_code(source, "sgemm")
    for operation in ("LDS", "STS"):
        if operation not in REPEATED.get(kernel.name, set()):
            assert predicted(source, "sgemm", operation) == widths(code, operation)
