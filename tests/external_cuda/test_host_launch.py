"""The file's own launch: its grid and block, worked out from its host code."""

from pathlib import Path

import pytest

from sgemm_lab.external_cuda.device_code import read_sources
from sgemm_lab.external_cuda.host_launch import HostLaunch, UnknownError
from sgemm_lab.external_cuda.kernels import launches_of

HEAD = """
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define THREADS 256
constexpr int TILE = 16, ROWS = TILE * 2;
inline int blocks_for(int a, int b) { return (a + b - 1) / b; }
__global__ void k(float* x, int n, int m) {}
"""


def shape(body: str, n: int = 100, m: int = 60, **defines: str) -> tuple[tuple[int, ...], ...]:
    sources = read_sources(f"{HEAD}\nvoid run(int n, int m) {{ {body} }}", Path("a.cu"))
    return HostLaunch(launches_of(sources)[0], sources, defines).shape([None, n, m])


@pytest.mark.parametrize(
    ("body", "grid", "block", "shared"),
    [
        ("k<<<(n + 255) / 256, 256>>>(x, n, m);", (1,), (256,), 0),
        ("k<<<CEIL_DIV(n, TILE), THREADS>>>(x, n, m);", (7,), (256,), 0),
        ("dim3 b(TILE, ROWS), g(CEIL_DIV(n, b.x), CEIL_DIV(m, b.y)); k<<<g, b, 64>>>(x, n, m);",
         (7, 2), (16, 32), 64),
        ("dim3 g = dim3(blocks_for(n, 8), m); k<<<g, dim3{8, 4}>>>(x, n, m);", (13, 60), (8, 4), 0),
        ("int t = 1 << 5; int g = (int)ceil((float)n / t); k<<<g, t>>>(x, n, m);", (4,), (32,), 0),
        ("int s = TILE * sizeof(float); k<<<std::min(n, 65535), 32, s>>>(x, n, m);",
         (100,), (32,), 64),
        ("int g = 1; g = n / 50; k<<<g, n % 64>>>(x, n, m);", (2,), (36,), 0),
        ("k<<<static_cast<int>(n / 8.0), 32>>>(x, n, m);", (12,), (32,), 0),
        ("k<<<-(-n), WIDTH>>>(x, n, m);", (100,), (48,), 0),
        ("k<<<div_ceil(n, 32), iDivUp(m, 7)>>>(x, n, m);", (4,), (9,), 0),
    ],
)  # fmt: skip
def test_shape_of_a_launch(
    body: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int
) -> None:
    assert shape(body, WIDTH="48") == (grid, block, (shared,))


@pytest.mark.parametrize(
    "body",
    [
        "k<<<g, 256>>>(x, n, m);",
        "int g = 4; g /= 2; k<<<g, 256>>>(x, n, m);",
        "int g = 4; g++; k<<<g, 256>>>(x, n, m);",
        "dim3 g(4); g.x = n; k<<<g, 256>>>(x, n, m);",
        "int g = pick(n); k<<<g, 256>>>(x, n, m);",
        "int g = g; k<<<g, 256>>>(x, n, m);",
        "k<<<n / 0, 256>>>(x, n, m);",
        "k<<<n ? 1 : 2, 256>>>(x, n, m);",
        "k<<<dim3(2) + 1, 256>>>(x, n, m);",
        "k<<<sqrt(-1), 256>>>(x, n, m);",
        "k<<<1>>>(x, n, m);",
        f"k<<<{'(' * 90}1{')' * 90}, 256>>>(x, n, m);",
    ],
)
def test_a_launch_that_cannot_be_worked_out_is_unknown(body: str) -> None:
    with pytest.raises(UnknownError):
        shape(body)
