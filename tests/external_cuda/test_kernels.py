"""The kernels of a file: names, templates, parameters, launches."""

from pathlib import Path

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.device_code import Sources, read_sources
from sgemm_lab.external_cuda.kernels import choose, kernels_of, launches_of, template_values

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


def sources(text: str = FILE) -> Sources:
    return read_sources(text, Path("a.cu"))


def test_kernels_with_their_parameters() -> None:
    tiled, naive, empty = kernels_of(sources())
    assert (tiled.name, naive.name, empty.name) == ("tiled", "lab::naive", "empty")
    assert tiled.said == "tiled<int BM, typename T, bool FAST>"
    assert tiled.required == 1
    found = [(p.type, p.name, p.pointer, p.const) for p in tiled.parameters]
    assert found == [("T", "A", True, True), ("T", "B", True, False), ("int", "n", False, True)]
    found = [(p.type, p.name, p.pointer, p.const) for p in naive.parameters]
    assert found == [
        ("float", "a", True, True),
        ("unsigned int", "b", True, False),
        ("size_t", "", False, False),
        ("float", "beta", False, False),
    ]
    assert empty.parameters == ()


def test_launches_of_the_file() -> None:
    first, second = launches_of(sources())
    assert (first.line, first.kernel) == (10, "tiled<128,half>")
    assert first.shape == ("dim3(1,2)", "block", "4*sizeof(float)")
    assert first.arguments == ("a", "b", "f(1,2)")
    assert str(second) == "lab::naive<<<grid, block>>>(a, b, 3, 1.0f)"


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("tiled<8>", "tiled<8>"),
        ("tiled < 8, float >", "tiled<8, float>"),
        ("naive", "lab::naive"),
        ("lab::naive", "lab::naive"),
        ("emp", "empty"),
    ],
)
def test_the_entry_that_is_meant(entry: str, name: str) -> None:
    assert choose(kernels_of(sources()), [], entry, "a.cu")[1] == name


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            None,
            r"has 3 kernels. Choose one with --entry: tiled<int BM, typename T",
        ),
        ("tiled", r"is a template. .*--entry 'tiled<…>'. Line 10 launches tiled<128,half>\."),
        ("absent", "no kernel called 'absent'. It has: tiled"),
        ("i", "several kernels that 'i' can mean"),
    ],
)
def test_an_entry_that_cannot_be_told_is_a_sentence(entry: str | None, reason: str) -> None:
    found = sources()
    with pytest.raises(LabError, match=reason):
        choose(kernels_of(found), launches_of(found), entry, "a.cu")


def test_one_kernel_needs_no_entry_and_defaults_of_a_template_no_values() -> None:
    found = kernels_of(sources("template <int N = 4> __global__ void only(int* x) {}"))
    assert choose(found, [], None, "a.cu")[1] == "only<>"


def test_values_of_a_template() -> None:
    tiled = kernels_of(sources())[0]
    values = template_values(tiled, "tiled<8, pair<int, 3>>")
    assert values == {"BM": "8", "T": "pair<int, 3>"}
