"""Findings that rest on an assumed launch are warnings; others are errors."""

import json
from pathlib import Path

import pytest
from file_reports import checked
from turns import TAKES_TURNS, TODAY

from sgemm_lab.cli.main import main
from sgemm_lab.external_cuda import count_external, read_kernel

pytestmark = TAKES_TURNS

OVERLAP = """
__global__ void edge(float* c, int n) {
    c[blockIdx.x * 4 + threadIdx.x] = n + blockIdx.x;
}
"""
SHARED = """
__global__ void shift(const float* x, float* y, int n) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[(threadIdx.x + 64) % 256];
}
"""
OF_ITS_HOST = """
int main() {
    float* c;
    cudaMalloc(&c, 16 * sizeof(float));
    edge<<<4, 8>>>(c, 16);
}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "file.cu"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_race_between_blocks_of_an_assumed_grid_would_happen(tmp_path: Path) -> None:
    kernel = read_kernel(write(tmp_path, OVERLAP), arguments="c:out:1024 n=1024")
    done = count_external(kernel, (64, 64, 64))
    assert done.errors == []
    assert done.would_happen
    assert all(one.startswith("Would happen with the assumed launch: ") for one in done.findings())


def test_the_same_race_in_the_launch_of_the_file_is_an_error(tmp_path: Path) -> None:
    done = count_external(read_kernel(write(tmp_path, OVERLAP + OF_ITS_HOST)), (64, 64, 64))
    assert "race" in [one.kind for one in done.errors]
    assert done.would_happen == []


def test_a_race_in_shared_memory_is_an_error_with_any_launch(tmp_path: Path) -> None:
    kernel = read_kernel(write(tmp_path, SHARED), arguments="x:in:256 y:out:256 n=256")
    done = count_external(kernel, (64, 64, 64))
    assert done.assumed
    assert [one.kind for one in done.errors] == ["race"]


@pytest.mark.parametrize(("fail_on", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_the_exit_status_counts_the_severities_that_are_asked_for(
    fail_on: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, OVERLAP)
    asked = ["count", file, "--args", "c:out:1024 n=1024", "--fail-on", fail_on, "--json"]
    assert main(asked) == status
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "not judged"
    assert {one["severity"] for one in found["findings"]} == {"warning"}


CONDITIONS = """
__global__ void fill(float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1;
}}
int main() {{
    const int width = 128;
    const int n = {condition} ? 96 : 32;
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    fill<<<(n + 31) / 32, 32>>>(y, n);
}}
"""


@pytest.mark.parametrize(
    ("condition", "blocks"),
    [
        ("(width < 128)", 1), ("((width) <= 128)", 3), ("width == 128 && (width > 64)", 3),
        ("(width < 64 || width > 100)", 3), ("width < 64 && width > 100", 1),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=6, first=TODAY)
def test_a_condition_of_the_host_is_read_with_its_brackets(
    condition: str, blocks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["count", write(tmp_path, CONDITIONS.format(condition=condition)), "--json"])
    assert json.loads(capsys.readouterr().out)["grid"][0] == blocks


ONE_WARP = """
__global__ void turned(const float* x, float* y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t % 32] = x[32 * blockIdx.x + t];
    __syncwarp();
    y[32 * blockIdx.x + t] = s[(t + 1) % 32];
}
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (ONE_WARP, "would be wrong"),
        (ONE_WARP.replace("    __syncwarp();\n", ""), "wrong"),
        (ONE_WARP + "void run(const float* x, float* y) { turned<<<8, 64>>>(x, y); }", "wrong"),
    ],
)
def test_a_race_of_an_assumed_block_alone_is_no_error(text: str, verdict: str) -> None:
    assert checked(text).verdict == verdict


PLANE = """
__global__ void turned(const float* x, float* y) {
    __shared__ float s[128];
    int t = (threadIdx.y * 32 + threadIdx.x) % 128;
    s[t] = x[t] + threadIdx.y;
    __syncthreads();
    y[t] = s[t];
    s[t ^ 1] = 0;
}
"""


def test_of_an_assumed_block_those_races_are_errors_that_one_warp_has_too() -> None:
    assert [one.line for one in checked(PLANE).findings if one.severity == "error"] == [8]


TILES = """
__global__ void rows(const float* q, const float* k, float* o, int n, int d, int tiles, int Bc) {
    extern __shared__ float s[];
    float *one = s, *other = s + Bc * d;
    int t = threadIdx.x;
    one[t * d] = q[t * d], other[t * d] = k[t * d];
    BARRIER
    o[t * d] = one[t * d] + other[(t ^ 1) * d];
}
"""


@pytest.mark.parametrize(
    ("barrier", "verdict"), [("__syncthreads();", "would be wrong"), ("", "wrong")]
)
def test_a_race_of_more_threads_than_an_assumed_size_is_no_error(
    barrier: str, verdict: str
) -> None:
    assert checked(TILES.replace("BARRIER", barrier)).verdict == verdict
