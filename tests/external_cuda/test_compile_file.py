"""Files of others, compiled as they are."""

from pathlib import Path

import pytest

from sgemm_lab.cuda.compiler import CompileError
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda import compile_file, headers
from sgemm_lab.external_cuda.compile_file import Opened, open_file
from sgemm_lab.external_cuda.cuda_file import Pasted

FOREIGN = """\
#include <bits/stdc++.h>
#include <cuda_runtime.h>
#include "helper.h"
#define CHECK(x) check(x, __FILE__, __LINE__)
using namespace std;
void check(cudaError_t e, const char* f, int l) { if (e) { cerr << f; exit(1); } }
template <typename T, int N>
__global__ void scale(T* x, uint32_t n) {
    register int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && threadIdx.x % warpSize < 32)
        x[i] = std::min(x[i] * N, numeric_limits<T>::max()) + INFINITY * 0;
}
__global__ void uses_tensor_cores(half* x) { wmma::nothing(x); }
int main(int argc, char** argv) {
    float* x;
    CHECK(cudaMalloc(&x, 4));
    scale<float, 2><<<1, 32>>>(x, 1);
}
"""


def opened(text: str, folder: Path, entry: str | None = None, **more: object) -> Opened:
    return open_file(Pasted("any.cu", text, folder, entry, **more))  # type: ignore[arg-type]


def test_a_file_with_main_is_compiled_as_pasted(tmp_path: Path) -> None:
    found = opened(FOREIGN, tmp_path, "scale<float, 2>")
    assert found.name == "scale<float, 2>"
    assert "WARP_SZ" not in found.ptx
    assert found.notes == (
        "Left out, as the kernel does not need it: check, main.",
        "Not found, and not needed: helper.h.",
    )


def test_random_numbers_that_are_not_curands_own_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "#include <curand_kernel.h>\n__global__ void k(curandState* s) { curand(s); }"
    monkeypatch.setattr(compile_file, "cuda_folders", tuple)
    [note] = opened(text, tmp_path).notes
    assert "other random numbers" in note
    assert "CUDA_PATH" in note
    (tmp_path / "curand_kernel.h").write_text(headers.stand_in("curand_kernel.h"))
    monkeypatch.setattr(compile_file, "cuda_folders", lambda: (tmp_path,))
    assert not opened(text, tmp_path).notes


def test_what_prints_does_nothing_and_is_told(tmp_path: Path) -> None:
    text = '#include <cstdio>\n__global__ void k(int* x) { *x = 1; assert(*x); printf("%d", *x); }'
    found = opened(text, tmp_path)
    assert found.notes == ("Does nothing here: printf and assert.",)
    assert "vprintf" not in found.ptx
    assert not found.doubts
    assert opened("__global__ void k(int* x) { *x = 1; } // printf(1)", tmp_path).notes == ()


def test_errors_name_the_readers_own_line_and_its_header(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"Line 12: expected a \";\"|Line 1[12]"):
        opened(FOREIGN.replace("INFINITY * 0;", "INFINITY * 0"), tmp_path, "scale<float, 2>")
    (tmp_path / "near.h").write_text("\n__device__ int near() { return oops; }")
    text = '#include "near.h"\n__global__ void k(int* x) { *x = near(); }'
    with pytest.raises(CompileError, match=r'Line 2 of near.h: identifier "oops" is undefined'):
        opened(text, tmp_path)


def test_a_header_that_is_needed_and_missing_is_named(tmp_path: Path) -> None:
    text = '#include "lost.h"\n__global__ void k(int* x) { *x = lost(); }'
    with pytest.raises(CompileError, match=r"not found: lost.h. Say where they lie with -I"):
        opened(text, tmp_path)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "lost.h").write_text("__device__ int lost() { return 1; }")
    assert opened(text, tmp_path, folders=(tmp_path / "far",)).notes == ()


def test_cudas_headers_come_from_cuda_path_or_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "#include <cuda_fp16.h>\n__global__ void k(half* x) { x[0] = x[1]; }"
    monkeypatch.setattr(headers, "_packages", lambda: iter((tmp_path / "wheel",)))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "toolkit"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    headers.cuda_folders.cache_clear()
    try:
        if not Path("/usr/local/cuda/include").exists():
            with pytest.raises(CompileError, match=r"one of CUDA's own headers.*Set CUDA_PATH"):
                opened(text, tmp_path)
        include = tmp_path / "toolkit" / "include"
        include.mkdir(parents=True)
        (include / "cuda_fp16.h").write_text("struct half { unsigned short bits; };")
        headers.cuda_folders.cache_clear()
        assert ".param .u64" in opened(text, tmp_path).ptx
        assert headers.cuda_folders() == (include, tmp_path / "wheel")
    finally:
        headers.cuda_folders.cache_clear()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("int main() {}", "any.cu has no kernel: it needs a __global__ function"),
        ("__global__ void k(int* x);", "only announces the kernel k"),
        ("__global__ void k(int* x) { {", "any.cu cannot be read. Its brackets do not match"),
        (
            "__global__ void c(int* x) {} __global__ void k(int* x) { c<<<1, 1>>>(x); }",
            "Line 1: k launches another kernel.* Give the inner kernel to --entry",
        ),
    ],
)
def test_what_cannot_be_opened_says_why(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        opened(text, tmp_path, "k" if "c(int" in text else None)


@pytest.mark.parametrize("name", sorted({*headers._FILLED}))
def test_every_text_that_takes_the_place_of_a_header_compiles(name: str, tmp_path: Path) -> None:
    assert opened(f"#include <{name}>\n__global__ void k(int* x) {{ *x = 1; }}", tmp_path).ptx


@pytest.mark.parametrize(
    "text",
    [
        # functions of a warp as they were before CUDA 9
        "__global__ void k(int* x) { int v = __shfl_xor(x[threadIdx.x], 1, 16) + __shfl(1, 0);"
        " x[threadIdx.x] = __any(v) ? __ballot(v > 0) : __shfl_down(v, 2); }",
        "#ifndef __linux__\n#error Unsupported system\n#endif\n__global__ void k(int* x) {}",
        "__global__ void k(__int128* x) { x[threadIdx.x] = x[32 + threadIdx.x]; }",
        "#include <algorithm>\n#include <math_constants.h>\n__global__ void k(double* x)"
        " { std::aligned_storage<8, 8>::type a; *x = sizeof(a) == alignof(a) ? CUDART_INF : 0; }",
        "#include <curand_kernel.h>\n__global__ void k(float* x) { curandState s;"
        " curand_init(1, 0, 0, &s); *x = curand_normal(&s) + curand_uniform4(&s).w; }",
        "template <class T> concept Real = std::floating_point<T>;\n"
        "template <Real T> __device__ T twice(T x) { return 2 * x; }\n"
        "#ifdef __unix__\n__global__ void k(float* x) { *x = twice(*x); }\n#endif",
        "typedef struct Of { float* y; };\n__global__ void k(const Of* x) { *x->y = 1; }",
        "__global__ void k(int* x) {}\n__global__ void k(int* x, int n) { *x = n; }",
        "#include <cufft.h>\n__global__ void k(cufftComplex* x, CUtexObject) { x->x = 1; }",
    ],
)
def test_what_older_compilers_and_systems_know_is_known(text: str, tmp_path: Path) -> None:
    assert ".param" in opened(text, tmp_path).ptx


def test_headers_of_a_newer_toolkit_than_the_compiler_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA 13 declares in a header what its small floats use, and here that header is filled."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda_fp16.h").write_text(
        "__NV_SILENCE_DEPRECATION_BEGIN\n__device__ double half_of(double4_16a x, double4_32a y)"
        " { return x.x + y.w; }\n__NV_SILENCE_DEPRECATION_END\n"
    )
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    headers.cuda_folders.cache_clear()
    try:
        text = "#include <cuda_fp16.h>\n__global__ void k(double* x) { *x = half_of({}, {}); }"
        assert ".param" in opened(text, tmp_path).ptx
    finally:
        headers.cuda_folders.cache_clear()


def test_headers_are_found_in_usual_folders_above_the_file(tmp_path: Path) -> None:
    inner = tmp_path / "kernels" / "basic"
    inner.mkdir(parents=True)
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "mine.h").write_text("#define TWO 2.0f\n")
    text = '#include "mine.h"\n__global__ void k(float* x) { *x = TWO; }'
    assert ".param" in opened(text, inner).ptx


def test_a_type_that_is_assumed_is_half_where_float_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_file, "cuda_folders", lambda: (tmp_path,))
    text = "struct half { short bits; };\ntemplate <typename T> __global__ void k(T* x)\n" \
           "{ static_assert(sizeof(T) == sizeof(half), \"small\"); *x = {}; }"  # fmt: skip
    found = opened(text, tmp_path)
    assert found.name == "k<half>"
    assert found.notes == ("Values of the template, assumed: --entry 'k<half>'.",)
    with pytest.raises(CompileError, match=r"Line 3: small[^$]*--entry 'k<float>'"):
        opened(text.replace("== s", "== 1 + s"), tmp_path)


def test_an_old_texture_is_told_what_to_become() -> None:
    source = """texture<float, 2, cudaReadModeElementType> image;
__global__ void k(float* o) { o[threadIdx.x] = tex2D(image, threadIdx.x, 0); }"""
    with pytest.raises(CompileError, match="a parameter of the type cudaTextureObject_t"):
        open_file(Pasted("k.cu", source, Path()))
