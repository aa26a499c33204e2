"""What the pages' compiler makes of sources: PTX that runs, or sentences at the reader's lines."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiler_here import compiled, package

from sgemm_lab.clang.package import package_files, version, write_site
from sgemm_lab.simulator import Result, simulate

OWNERS = (
    "Catherine <whitequark@whitequark.org>",
    "provided that the above\ncopyright notice and this permission notice appear in all copies",
    "Pooya Parsa", "LLVM Exceptions to the Apache 2.0 License",
    "University of Illinois at Urbana-Champaign", "Henry Spencer",
    "Regents of the University of California", "Yann Collet", "Unicode, Inc.", "Alexander Peslyak",
    "wasi-libc as a whole", "Nuxi", "Rich Felker", "Doug Lea",
)  # fmt: skip
"""Whose work is in the package: its own, what bundle.js joins, LLVM and what LLVM has of others,
the C library that it is linked with."""

LANES = np.arange(32)
FLOATS = (LANES * 0.75 - 4).astype(np.float32)


def run(body: str, *, outside: str = "", shared_bytes: int = 0, **arrays: Any) -> Result:
    """Run a kernel of 32 threads whose arrays are `a`, `b` … of float or int."""
    kinds = {np.dtype(np.float32): "float", np.dtype(np.int32): "int"}
    taken = ", ".join(f"{kinds[array.dtype]}* {name}" for name, array in arrays.items())
    start = "const int i = threadIdx.x;"
    answer = compiled(f"{outside}\n__global__ void k({taken})\n{{\n{start}\n{body}\n}}\n")
    assert "ptx" in answer, answer
    return simulate(answer["ptx"], "_Z1k" + mangled(arrays), (1,), (32,), arrays, shared_bytes)


def mangled(arrays: dict[str, Any]) -> str:
    """Return how a C++ compiler writes pointer parameters in a function's name."""
    letters = {np.dtype(np.float32): "f", np.dtype(np.int32): "i"}
    text, seen = "", {}
    for array in arrays.values():
        letter = letters[array.dtype]
        again = seen.get(letter)
        text += f"P{letter}" if again is None else ("S_" if again == 0 else f"S{again - 1}_")
        seen.setdefault(letter, len(seen))
    return text


def floats() -> np.ndarray[Any, np.dtype[np.float32]]:
    return FLOATS.copy()


def words() -> np.ndarray[Any, np.dtype[np.int32]]:
    return LANES.astype(np.int32)


def test_shuffles_votes_and_atomics() -> None:
    body = """
        a[i] = __shfl_xor_sync(~0u, a[i], 1) + __shfl_down_sync(~0u, 1.0f * i, 2, 16);
        if (__any_sync(~0u, i == 3)) atomicAdd(&b[0], 2);
        b[i + 1] = __ballot_sync(~0u, i % 2) == 0xaaaaaaaau;
    """
    result = run(body, a=floats(), b=np.zeros(33, np.int32))
    down = np.where(LANES % 16 < 14, LANES + 2, LANES)
    assert np.array_equal(result.arrays["a"], FLOATS[LANES ^ 1] + down)
    assert result.arrays["b"].tolist() == [64, *[1] * 32]


def test_vectors_are_loaded_and_stored_whole_and_their_elements_have_addresses() -> None:
    body = """
        if (i < 8) {
            float4 v = *reinterpret_cast<float4*>(&a[4 * i]);
            v.x += v.w;
            float* parts = reinterpret_cast<float*>(&v);
            const float second = parts[i % 4];
            v.y = second;
            *reinterpret_cast<float4*>(&a[4 * i]) = v;
        }
    """
    result = run(body, a=floats())
    wanted = FLOATS.reshape(8, 4).copy()
    wanted[:, 0] += wanted[:, 3]
    wanted[:, 1] = wanted[np.arange(8), np.arange(8) % 4]
    assert np.array_equal(result.arrays["a"], wanted.reshape(-1))
    assert result.counts.total.global_load_requests == 1
    assert result.counts.total.global_store_requests == 1


def test_dynamic_and_static_shared_arrays_lie_apart() -> None:
    body = """
        extern __shared__ float all[];
        __shared__ float s[32];
        all[i] = a[i]; s[31 - i] = a[i];
        __syncthreads();
        a[i] = all[31 - i] * s[i] + s[31 - i];
    """
    result = run(body, a=floats(), shared_bytes=128)
    assert result.hazards == []
    back = FLOATS[::-1].astype(np.float64)
    assert np.array_equal(result.arrays["a"], (back * back + FLOATS).astype(np.float32))


def test_inline_ptx_lambdas_templates_and_structures() -> None:
    outside = """
        struct Pair { float x; int n; };
        template <int N> __device__ int add(int v)
        {
            asm volatile("{ .reg .b32 t; mov.b32 t, %1; add.s32 %0, %0, t; }" : "+r"(v) : "n"(N));
            return v;
        }
    """
    body = """
        auto twice = [&](float v) { return Pair{2 * v, add<7>(b[i])}; };
        const Pair p = twice(a[i]);
        a[i] = p.x; b[i] = p.n;
    """
    result = run(body, outside=outside, a=floats(), b=words())
    assert np.array_equal(result.arrays["a"], 2 * FLOATS)
    assert np.array_equal(result.arrays["b"], LANES + 7)


def test_whole_numbers_of_every_width() -> None:
    body = """
        const long long w = (long long)b[i] * 1000000007 - 5;
        const short s = short(w);
        const unsigned char u = (unsigned char)(w >> 3);
        b[i] = int(w % 1001) + s / 3 + (u << 1) + max(b[i], 7) - abs(-b[i]) + __popc(b[i]);
    """
    out = run(body, b=words()).arrays["b"]
    for i in range(32):
        w = i * 1000000007 - 5
        s = (w & 0xFFFF) - ((w & 0x8000) << 1)
        rest = int(np.fmod(w, 1001))
        wanted = rest + int(s / 3) + ((w >> 3 & 0xFF) << 1) + max(i, 7) - i + i.bit_count()
        assert out[i] == wanted, i


def test_values_that_change_places_in_a_loop() -> None:
    body = """
        float x = a[i], y = 1.0f, z = 2.0f;
#pragma unroll 1
        for (int n = 0; n < i; ++n) { const float t = x; x = y; y = z + n; z = t; }
        a[i] = x + 10 * y + 100 * z;
    """
    out = run(body, a=floats()).arrays["a"]
    for i in range(32):
        x, y, z = FLOATS[i], np.float32(1), np.float32(2)
        for n in range(i):
            x, y, z = y, z + np.float32(n), x
        assert out[i] == pytest.approx(x + 10 * y + 100 * z, rel=1e-6)


def test_lines_are_those_of_the_source() -> None:
    source = "\n\n__global__ void k(float* a)\n{\n    a[threadIdx.x] =\n        a[0];\n}\n"
    answer = compiled(source, file="mine.cu")
    result = simulate(answer["ptx"], "_Z1kPf", (1,), (32,), {"a": floats()})
    touched = {str(place) for place, each in result.counts.lines.items() if each.global_load_bytes}
    assert touched == {"mine.cu, line 6"}


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("\n__global__ void k() { x = 1; }", 2, "use of undeclared identifier 'x'"),
        ('static_assert(1 > 2, "TILE × 2 is too much.");', 1, "TILE × 2 is too much."),
        ("\n\n__global__ void k() { min(1); }", 3, "no matching function for call to 'min'"),
        ("__global__ void k(float4* a)\n{ a[0] = a[1] + a[2]; }", 2, "component by component"),
        ("__global__ void k(float4* a)\n{ a->x = *(&a->y); }", 2, "address of a component"),
        (
            "__device__ __noinline__ float f(float x) { return x > 3 ? x * x : x + 1; }\n"
            "__global__ void k(float* a)\n{ a[0] = f(a[1]); }",
            3,
            "Functions must be defined in the source",
        ),
        (
            "__device__ float t[4];\n__global__ void k(float* a)\n{ a[0] = t[1]; }",
            3,
            "Pass constants and arrays as kernel arguments",
        ),
        ("#include <vector>", 1, "'vector' file not found"),
        ("int n;", 0, "The source has no kernel."),
    ],
)
def test_what_cannot_be_compiled_is_told_at_its_line(source: str, line: int, said: str) -> None:
    (error,) = compiled(source)["errors"]
    assert error["line"] == line
    assert said in error["text"]


def test_macros_come_from_outside() -> None:
    source = 'static_assert(TILE == 16, "TILE is wrong.");\n__global__ void k() {}'
    assert "ptx" in compiled(source, defines={"TILE": 16})
    assert compiled(source, defines={"TILE": 8})["errors"] == [
        {"line": 1, "text": "TILE is wrong."}
    ]


def test_site_has_all_that_a_page_fetches(tmp_path: Path) -> None:
    package()
    sizes = write_site(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    headers = manifest["headers"]
    assert manifest == {"version": version(), "files": sizes, "headers": headers}
    assert list(headers) == ["llvm-resources.tar.gz"]
    for name, size in {**sizes, **headers}.items():
        packed = (tmp_path / name).read_bytes()
        assert len(packed) == size
        assert gzip.decompress(packed) == (package_files() / name.removesuffix(".gz")).read_bytes()
    licences = (tmp_path / "LICENSES.txt").read_text()
    for owner in OWNERS:
        assert owner in licences
    assert (tmp_path / "bundle.js").is_file()
