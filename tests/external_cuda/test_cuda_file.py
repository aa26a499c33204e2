"""What Node reads in a file: kernels, what is compiled, parameters, launches of the host code."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_node import answers

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.cuda_file import Pasted, Sources, read_sources

FILE = """
template <const int BM, typename T = float, bool FAST = (3 > 2)>
__global__ void __launch_bounds__(BM * 2) tiled(const T* __restrict__ A, T B[], int const n) {}
namespace lab {
__global__ void naive(float const *const a, unsigned int *b, size_t, float beta = 0) {}
}
extern "C" __global__ void empty(void) {}
void run() {
    dim3 grid(1), block(2);
    tiled<128, half><<<dim3(1, 2), block, 4 * sizeof(float)>>>(a, b, f(1, 2));
    lab::naive<<<grid, block>>>(a, b, 3, 1.0f);
}
"""


def sources(text: str = FILE, folder: Path = Path("nowhere"), **defines: str) -> Sources:
    return read_sources(Pasted("a.cu", text, folder, defines=defines))


def opened(found: Sources, entry: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = found.ask("open_kernel", entry, gone=found.absent)
    return answer


MODULES = {
    "cuda": "external_cuda/cuda_file.ts", "open": "external_cuda/open_kernel.ts",
    "structs": "external_cuda/structs.ts", "signatures": "external_cuda/signatures.ts",
    "kernels": "external_cuda/kernels.ts", "constants": "external_cuda/constants.ts",
    "tokens": "external_cuda/tokens.ts",
}  # fmt: skip


def asked(function: str, found: Sources, entry: str, *given: Any) -> Any:
    """Return what a function answers that takes an opened kernel.

    Raises:
        LabError: as the function throws.
    """
    opened = "open.openKernel(new cuda.CudaFile(files, defines), entry)"
    calling = f"({{ files, defines }}, entry, ...given) => ({function})({opened}, ...given)"
    [answer] = answers(MODULES, calling, [[found.given, entry, *given]])
    if answer.get("kind") == "LabError":
        raise LabError(answer["says"])
    return answer["gives"]


def parameters(found: Sources, entry: str, types: Sequence[str] = ("u64",) * 12) -> dict[str, Any]:
    answer: dict[str, Any] = asked(
        """({ kernel, file, values }, types) => {
            const slots = structs.slotsOf(kernel.parameters, types, file, values);
            const fields = slots.flatMap((slot) => slot.fields);
            const product = signatures.productArguments(kernel.name, fields);
            const suggested = fields.map((one, at) => signatures.suggestion(one, at + 1));
            return { slots, product, suggested };
        }""",
        found, entry, types,
    )  # fmt: skip
    return answer


def test_kernels_with_their_parameters_and_launches() -> None:
    assert [one["name"] for one in sources().ask("own_kernels")] == ["tiled", "lab::naive", "empty"]
    tiled, naive, empty = (
        [
            (one["type"], one["name"], one["pointer"], one["constant"])
            for slot in parameters(sources(), entry)["slots"]
            for one in slot["fields"]
        ]
        for entry in ("tiled<8>", "naive", "empty")
    )
    assert tiled == [("T", "A", True, True), ("T", "B", True, False), ("int", "n", False, True)]
    assert naive == [
        ("float", "a", True, True),
        ("unsigned int", "b", True, False),
        ("size_t", "", False, False),
        ("float", "beta", False, False),
    ]
    assert empty == []
    told = "({ launches: [one] }) => [one.line, kernels.launchText(one)]"
    text = "tiled<128,half><<<dim3(1,2), block, 4*sizeof(float)>>>(a, b, f(1,2))"
    assert asked(told, sources(), "tiled") == [10, text]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("tiled<8>", "tiled<8>"),
        ("tiled < 8, float >", "tiled<8, float>"),
        ("tiled", "tiled<128, half>"),
        ("naive", "lab::naive"),
        ("lab::naive", "lab::naive"),
        ("emp", "empty"),
    ],
)
def test_the_entry_that_is_meant(entry: str, name: str) -> None:
    assert opened(sources(), entry)["name"] == name


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            None,
            r"has 3 kernels. Choose one with --entry: tiled<int BM, typename T, bool FAST>, lab",
        ),
        ("absent", "no kernel called 'absent'. It has: tiled"),
        ("i", "several kernels that 'i' can mean"),
    ],
)
def test_an_entry_that_cannot_be_told_is_a_sentence(entry: str | None, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        opened(sources(), entry)


def test_one_kernel_needs_no_entry_and_values_of_a_template_have_names() -> None:
    found = opened(sources("template <int N = 4> __global__ void only(int* x) {}"))
    assert found["name"] == "only<>"
    values = opened(sources(), "tiled<8, pair<int, 3>>")["values"]
    assert values == [["BM", "8"], ["T", "pair<int, 3>"]]


WHOLE = """\
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


def part_of(text: str, folder: Path = Path("nowhere")) -> dict[str, str]:
    return {one["name"]: one["text"] for one in opened(sources(text, folder), "mine")["files"]}


def test_only_what_the_kernel_names_is_compiled() -> None:
    found = sources(WHOLE)
    assert found.absent == ("their_utils.h",)
    assert opened(found, "mine")["leftOut"] == ["never", "main"]
    lines = part_of(WHOLE)["a.cu"].splitlines()
    kept = {number for number, line in enumerate(lines, 1) if line.strip()}
    assert kept == {1, 3, 4, 5, 6, 8, 10, 11, 12, 13, 15, 17, 20, 22, 23}
    assert lines[3] == "namespace vendor {} using namespace vendor;"
    originals = WHOLE.splitlines()
    assert all(lines[i - 1] == originals[i - 1] for i in kept - {4, 15, 17})


def test_headers_beside_the_file_are_read_and_cut_as_well(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "tile.cuh").write_text(
        '#include "deeper.h"\nint host_only() { return puts("x"); }\nconst int T = DEEP;\n'
    )
    (tmp_path / "common" / "deeper.h").write_text(
        '#define DEEP 4\n#include "deeper.h"\n/*\n#include "absent.h"\n*/\n#include <vector>\n'
    )
    text = '#include "common/tile.cuh"\n__global__ void mine(int* x) { *x = T; }'
    part = part_of(text, tmp_path)
    assert part["common/tile.cuh"].splitlines()[2] == "const int T = DEEP;"
    assert part["deeper.h"].startswith("#define DEEP 4")
    found = sources(text, tmp_path)
    assert (found.fills["vector"], found.absent) == ("", ())


PIECES = (
    "int main() { run<<<1, 2>>>(); }\n", "__device__ int helper() {\n  return 1;\n}\n",
    "#include <vector>\n", "// comment {\n", "struct S { int a; };\n", "#if 1\nint x;\n#endif\n",
    "void host() {\n#pragma once\n#define D 1\n  cudaFree(0);\n}\n", "typedef float real;\n",
    "template <class T> void show(T t) { puts(\"{\"); }\n", "int a = 1, b[2] = {1, 2};\r\n",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_every_letter_that_stays_stays_in_its_place(seed: int) -> None:
    random = Random(seed)
    pieces, place = random.choices(PIECES, k=seed), random.randrange(9)
    kernel = "__global__ void mine(real* x) { x[0] = helper() + b[1]; }\n"
    text = "".join((*pieces[:place], kernel, *pieces[place:]))
    part = part_of(text)["a.cu"]
    lines = zip(part.splitlines(), text.splitlines(), strict=True)
    assert all(now in (old, " " * len(old)) for now, old in lines)
    assert kernel in part
    assert "<<<" not in part
    assert "cudaFree" not in part


CONSTANTS = """
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define THREADS 256
constexpr int TILE = 16, ROWS = TILE * 2;
int loop = loop + 1;
__global__ void k(float* x) {}
"""


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("THREADS", 256), ("ROWS - 1", 31), ("CEIL_DIV(100, TILE)", 7), ("0x10", 16), ("64UL", 64),
        ("1 << 5", 32), ("(int)TILE * sizeof(float)", 64), ("WIDTH", 48), ("n / 2", 50),
        ("0.5f", 0.5), ("-TILE", -16), ("(TILE < 32) ? 4 : 8", 4),
        ("(ROWS >= 33 ? 1 : TILE == 16 ? 2 : 3) * 5", 10),
        ("TILE != 16", 0), ("TILE < h ? 1 : 2", None), ("loop", None),
        ("pick(3)", None), ("h", None),
        ("TILE +", None), ("dim3(2)", None), ("", None),
    ],
)  # fmt: skip
def test_constant_expressions(expression: str, value: float | None) -> None:
    found = sources(CONSTANTS, WIDTH="48")
    script = "({ file }, text) => constants.constantOf(tokens.tokensOf(text), file, { n: 100 })"
    assert asked(script, found, "k", expression) == value
