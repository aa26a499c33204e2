"""What a kernel needs is kept, and every line stays where it is."""

from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given

from sgemm_lab.external_cuda.device_code import DevicePart, device_part, read_sources

FILE = """\
#include <iostream>
#include "their_utils.h"
#define SQUARE(x) twice((x) * (x))
using namespace vendor;
constexpr int TILE = 8, UNUSED = 9;
static_assert(TILE < 32, "too large");
std::vector<float> host;
float twice(float x) { return x + x; }
float never(float x) { return x; }
struct Pair { float a, b; };
__device__ Pair pair_of(float x) {
    return {x, SQUARE(x)};
}
__global__ void other(float* x) { cub::sum(x); }
#ifdef TEST
int main() {
#define INSIDE 1
    other<<<1, 1>>>(nullptr);
}
#else
int main() { cudaMalloc(&host, 1); }
#endif
namespace deep { __global__ void mine(float* x) { x[INSIDE] = pair_of(x[TILE]).b; } }
"""


def part_of(text: str, folder: Path, name: str = "mine") -> DevicePart:
    sources = read_sources(text, folder / "a.cu")
    return device_part(sources, [k for k in sources.kernels if name in k.names])


def test_only_what_the_kernel_names_is_kept(tmp_path: Path) -> None:
    part = part_of(FILE, tmp_path)
    assert part.left_out == ("never", "main")
    assert part.absent == (("a.cu", 2, "their_utils.h"),)
    lines = part.text.splitlines()
    kept = {number for number, line in enumerate(lines, 1) if line.strip()}
    assert kept == {1, 3, 4, 5, 6, 8, 10, 11, 12, 13, 15, 17, 20, 22, 23}
    assert lines[3] == "namespace vendor {} using namespace vendor;"
    originals = FILE.splitlines()
    assert all(lines[i - 1] == originals[i - 1] for i in kept - {4, 15, 17})


def test_headers_beside_the_file_are_read_and_cut_as_well(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "tile.cuh").write_text(
        '#include "deeper.h"\nint host_only() { return puts("x"); }\nconst int T = DEEP;\n'
    )
    (tmp_path / "common" / "deeper.h").write_text("#define DEEP 4\n#include <vector>\n")
    text = '#include "common/tile.cuh"\n__global__ void mine(int* x) { *x = T; }'
    part = part_of(text, tmp_path)
    assert part.headers["common/tile.cuh"].splitlines()[1:] == [" " * 37, "const int T = DEEP;"]
    assert part.headers["deeper.h"].startswith("#define DEEP 4")
    assert part.headers["vector"] == ""
    assert part.absent == ()


def test_header_that_includes_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "self.h").write_text('#include "self.h"\n__device__ int one() { return 1; }')
    part = part_of('#include "self.h"\n__global__ void mine(int* x) { *x = one(); }', tmp_path)
    assert "one" in part.headers["self.h"]


PIECES = (
    "int main() { run<<<1, 2>>>(); }\n", "__device__ int helper() {\n  return 1;\n}\n",
    "#include <vector>\n", "// comment {\n", "struct S { int a; };\n", "#if 1\nint x;\n#endif\n",
    "void host() {\n#pragma once\n#define D 1\n  cudaFree(0);\n}\n", "typedef float real;\n",
    "template <class T> void show(T t) { puts(\"{\"); }\n", "int a = 1, b[2] = {1, 2};\r\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(0, 8))
def test_every_letter_that_stays_stays_in_its_place(pieces: list[str], place: int) -> None:
    kernel = "__global__ void mine(real* x) { x[0] = helper() + b[1]; }\n"
    text = "".join((*pieces[:place], kernel, *pieces[place:]))
    part = part_of(text, Path("nowhere"))
    assert len(part.text) == len(text)
    assert all(now in (old, " ") for now, old in zip(part.text, text, strict=True))
    assert kernel in part.text
    assert "<<<" not in part.text
    assert "cudaFree" not in part.text
