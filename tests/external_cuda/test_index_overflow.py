"""From which size on an index or a grid is too narrow, told from runs at small ones."""

import pytest
from file_reports import checked, errors, followed, program_text

from sgemm_lab.external_cuda import Options
from sgemm_lab.external_cuda.report import IndexOverflow

PRODUCT = """__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
    {type} row = blockIdx.y * blockDim.y + threadIdx.y;
    {type} col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {{
        float acc = 0.0f;
        for (int k = 0; k < K; ++k)
            acc += A[row * K + k] * B[({type})k * N + col];
        C[row * N + col] = acc;
    }}
}}"""
TILES = ("ceil(N/16)", "ceil(M/16)")


def found(source: str, grid: tuple[str, ...] = TILES, block: tuple[str, ...] = ("16", "16"),
          arguments: str | None = None) -> list[IndexOverflow]:  # fmt: skip
    options = Options([(16, 16, 16)])
    return list(checked(source, options, grid=grid, block=block, arguments=arguments).limits)


@pytest.mark.parametrize(
    ("type_", "side", "line", "bits"),
    [("int", 46_341, 8, 32), ("unsigned", 65_537, 7, 32), ("short", 32_769, 4, 16)],
)
def test_a_narrow_index_is_told_with_its_line_and_size(
    type_: str, side: int, line: int, bits: int
) -> None:
    """The last element of C has the index side² - 1; a column of 16 bits is side - 1."""
    (one,) = found(PRODUCT.format(type=type_))
    assert (one.kind, one.side, one.line) == ("index", side, line)
    assert f"an index has {bits} bits here" in str(one)
    assert f"M = N = K = {side:,}" in str(one)


@pytest.mark.parametrize("type_", ["size_t", "long long"])
def test_an_index_of_64_bits_is_never_outgrown(type_: str) -> None:
    assert found(PRODUCT.format(type=type_)) == []


def test_bytes_counted_in_32_bits_end_sooner() -> None:
    source = PRODUCT.format(type="size_t").replace(
        "C[row * N + col] = acc", "*(float*)((char*)C + (unsigned)(row * N + col) * 4u) = acc"
    )
    (one,) = found(source)
    assert one.side == 32_769  # 4 · (side² - 1) is beyond 2³² - 1


@pytest.mark.parametrize(("grid", "side"), [("M", 65_536), ("ceil(M/2)", 131_071)])
def test_a_grid_of_too_many_rows_is_told(grid: str, side: int) -> None:
    rows = PRODUCT.format(type="size_t")
    block = ("64", "1") if grid == "M" else ("64", "2")
    (one,) = found(rows, ("ceil(N/64)", grid), block)
    assert (one.kind, one.side, one.line) == ("grid", side, None)
    assert "more than 65,535 blocks along y" in str(one)


def test_a_grid_that_fits_every_gpu_is_not() -> None:
    assert found(PRODUCT.format(type="size_t"), ("ceil(N/64)", "ceil(M/4)"), ("64", "4")) == []


def test_nothing_is_said_of_what_multiplies_no_matrices() -> None:
    source = "__global__ void twice(const float* x, float* y, int n) { int i = threadIdx.x; "
    source += "if (i < n) y[i] = 2.0f * x[i]; }"
    assert found(source, ("1",), ("32",), "x:in:32 y:out:32 n=32") == []


STRIDED = program_text("strided")


@pytest.mark.parametrize(
    ("type_", "count", "is_wrong"),
    [
        ("int", "2000000000", True),
        ("int", "1600000000", False),
        ("unsigned", "4000000000u", True),
        ("size_t", "4000000000u", False),
    ],
)
def test_a_loop_over_the_grid_passes_its_type_at_a_programs_size(
    type_: str, count: str, is_wrong: bool
) -> None:
    shown = errors(followed(STRIDED.replace("TYPE", type_).replace("COUNT", count)))
    assert any("Line 3: 32 bits are too few" in one for one in shown) == is_wrong
