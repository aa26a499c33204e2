"""The command ``sgemm-lab count``: the book's kernels, any other file, and what it refuses."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cli.main import main
from sgemm_lab.counting.kernel_counts import COUNTS, count

WRONG = Path(__file__).parents[1] / "wrong_kernels"

BODY = """{
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}
"""
SIZES_FIRST = "(int M, int N, int K, const float* A, const float* B, float* C)"
BOOK_ORDER = "(const float* A, const float* B, float* C, int M, int N, int K)"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        status: Any = main(["count", *arguments])
    except SystemExit as stop:
        status = stop.code
    said = capsys.readouterr()
    return status, said.out, said.err


def foreign(
    folder: Path, signature: str, name: str = "mine", before: str = "", body: str = BODY
) -> str:
    path = folder / "other.cu"
    path.write_text(f"#ifndef TILE\n#define TILE 8\n#endif\n{before}\n{name}{signature} {body}")
    return str(path)


LAUNCH = ("--entry", "mine", "--grid", "3,2", "--block", "8,8", "--size", "13,20,9")


def test_json_has_the_counts_of_the_launch(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "tiled:TILE=16", "--size", "33,34,35", "--json")
    assert (status, err) == (0, "")
    data = json.loads(out)
    total = count(load_kernel("tiled:TILE=16"), (33, 34, 35)).result.counts.total
    assert {name: data[name] for name in COUNTS} == {name: getattr(total, name) for name in COUNTS}
    assert data["size"] == [33, 34, 35]
    assert data["max_abs_error"] == data["wrong_elements"] == 0
    assert data["hazards"] == []
    assert sum(line["ffma_thread_instructions"] for line in data["lines"]) == total.flop // 2


def test_table_shows_lines_totals_and_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "float4_by_row", "--size", "64")
    assert status == 0
    lines = out.splitlines()
    assert re.split("  +", lines[0].strip()) == [
        "line", "global requests", "sectors", "shared requests", "wavefronts", "FLOP", "barriers",
        "source",
    ]  # fmt: skip
    source = load_kernel("float4_by_row").source.splitlines()
    for line in lines[1 : lines.index("")]:
        number, shown = line.split()[0], line.split("  ")[-1]
        assert source[int(number) - 1].strip().startswith(shown.rstrip("…"))
    assert "shared store requests                    384  (as written in the PTX: 768)" in lines
    assert lines[-1] == "C is right: all 4,096 elements of 64×64×64 equal the exact product."


def test_a_wrong_kernel_ends_with_status_1_and_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(WRONG / "missing_first_barrier.cu")
    status, out, _ = run(capsys, path, "--size", "40", "--json")
    data = json.loads(out)
    assert status == 1
    assert data["max_abs_error"] == 0
    assert all("with no barrier between" in hazard for hazard in data["hazards"])
    status, out, _ = run(capsys, path, "--size", "40", "--schedule", "warps")
    assert status == 1
    assert "C is WRONG: 1,560 of 1,600 elements differ from the exact product." in out


@pytest.mark.parametrize("signature", [SIZES_FIRST, BOOK_ORDER])
@pytest.mark.parametrize(
    "declared", ['extern "C" __global__ void mine', "__global__ void mine", "namespace x {} "
                 "__global__ void __launch_bounds__(64) mine"],
)  # fmt: skip
def test_any_file_is_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, signature: str, declared: str
) -> None:
    path = foreign(tmp_path, signature, declared)
    status, out, err = run(capsys, path, *LAUNCH, "--json")
    assert (status, err) == (0, "")
    data = json.loads(out)
    assert data["max_abs_error"] == 0
    assert data["ffma_thread_instructions"] == 13 * 20 * 9
    # 2 × 3 blocks of 2 warps, each 4 rows of 8; rows 13 to 15 and columns 20 to 23 are outside.
    assert data["global_store_requests"] == 12
    assert data["global_store_sectors"] == 13 * 3 + sum(
        (row * 20 + col) // 8 != (row * 20 + min(col + 7, 19)) // 8
        for row in range(13)
        for col in (0, 8, 16)
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("tild",), "Did you mean 'tiled'?"),
        (("tiled", "--size", "2000"), "it would take minutes"),
        (("tiled", "--size", "0,1,1"), "'0,1,1' is not a size"),
        (("tiled", "--grid", "3,3"), "Set constants of a book kernel by name: 'tiled:TILE=16'"),
        (("tiled", "--define", "TILE=16"), "Set constants of a book kernel by name"),
        (("absent.cu",), "absent.cu cannot be read"),
        (("absent.cu", *LAUNCH), "absent.cu cannot be read"),
        (("FILE", *LAUNCH, "--entry", "yours"), "has no kernel called 'yours'. It has: mine."),
        (("FILE", *LAUNCH, "--grid", "3,2,1,1"), "'3,2,1,1' is not a shape"),
        (("FILE", *LAUNCH, "--grid", "3*X,2"), "The grid is '3*X', "),
        (("FILE", *LAUNCH, "--block", "0,8"), "The block (0, 8) has a size below 1"),
        (("FILE", *LAUNCH, "--block", "64,64"), "at most 1024 threads"),
        (("FILE", *LAUNCH, "--define", "=3"), "'=3' is not a macro"),
        (("FILE", *LAUNCH, "--define", "TILE=("), "does not compile"),
        (("FILE", *LAUNCH, "--shared-bytes", "-4"), "not a whole number"),
        (("FILE", *LAUNCH, "--shared-bytes", "300000"), "300,000 bytes of shared memory"),
    ],
)
def test_invalid_input_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    path = foreign(tmp_path, SIZES_FIRST, "__global__ void mine")
    given = [path if argument == "FILE" else argument for argument in arguments]
    status, out, err = run(capsys, *given)
    assert (status, out) == (2, "")
    assert reason in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("int nothing;", "has no kernel"),
        (
            "__global__ void mine_a(float* C) {} __global__ void mine_b(float* C) {}",
            "several kernels that 'mine' can mean: mine_a, mine_b",
        ),
        ("int x; // \xff", "has no kernel"),
        ("\0", "is no text"),
    ],
)
def test_a_file_that_cannot_be_counted_has_a_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "other.cu"
    path.write_bytes(text.encode("latin-1"))
    status, out, err = run(capsys, str(path), *LAUNCH)
    assert (status, out) == (2, "")
    assert reason in err


def test_progress_is_one_line_of_a_terminal_and_silent_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(capsys, "naive", "--size", "8")
    _, out, err = run(capsys, "naive", "--size", "64")
    assert err.startswith("\r\033[K")
    assert err.endswith("\r\033[K")
    assert "\n" not in err
    assert "\033" not in out
    monkeypatch.undo()
    assert run(capsys, "naive", "--size", "64")[2] == ""


SPLIT_BARRIER = """
extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    if (threadIdx.x < 32) __syncthreads(); else __syncthreads();
    int row = blockIdx.y, column = threadIdx.x;
    if (column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}
"""


def test_a_warning_is_printed_without_failing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "split.cu"
    path.write_text(SPLIT_BARRIER)
    call = ["count", str(path), "--entry", "sgemm", "--grid", "1,3", "--block", "64",
            "--size", "3,64,5"]  # fmt: skip
    assert main(call) == 0
    assert "A GPU counts both alike" in capsys.readouterr().out
    assert main([*call, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 1


def test_time_limits_are_set_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "tiled", "--size", "128", "--time-limit", "0.001"]) == 2
    assert "stopped after 0.001 seconds" in capsys.readouterr().err
    assert main(["check", "tiled", "--size", "128", "--time-limit", "0.001"]) == 2
    assert "stopped after 0.001 seconds" in capsys.readouterr().out


SAXPY = """
#include <cuda_runtime.h>
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() { saxpy<<<4096 / 256, 256>>>(4096, 2, 0, 0); cudaDeviceSynchronize(); }
"""
SAXPY_CALL = (
    "--args", "n=1000 2.5 x:in:n y:inout:n", "--grid", "ceil(n/256)", "--block", "256",
)  # fmt: skip


def saxpy(folder: Path, old: str = "", new: str = "") -> str:
    path = folder / "saxpy.cuh"
    path.write_text(SAXPY.replace(old, new) if old else SAXPY)
    return str(path)


def test_missing_arguments_are_reported_or_assumed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = saxpy(tmp_path, "4096 / 256", "blocks")
    status, out, _ = run(capsys, path, *SAXPY_CALL[:2])
    assert status == 0
    assert "Launch, assumed: a grid of 4 blocks of 256 threads." in out
    status, out, _ = run(capsys, path, "--grid", "4", "--block", "256")
    assert status == 0
    assert "Arguments, assumed: n=4096 1.0 x:in:4096 y:inout:4096. Say --args" in out
    status, out, _ = run(capsys, path, "--grid", "ceil(N/64)", "--block", "256", "--json")
    data = json.loads(out)
    assert (status, data["grid"], data["verdict"]) == (0, [4], "not judged")
    assert data["assumed"][0].startswith("Arguments, assumed: n=4096 1.0 x:in:4096")


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ("256 1 1 1", "'char a' takes numbers from -128 to 127, not 256"),
        ("1 256 1 1", "'bool b' takes numbers from 0 to 1, not 256"),
        ("1 1 40000 1", "'short c' takes numbers from -32,768 to 32,767, not 40000"),
        ("1 1 1 3000000000", "'int d' takes numbers from -2,147,483,648 to 2,147,483,647"),
        ("-2 1 -2 -2", ""),
    ],
)
def test_a_number_fits_its_parameter_or_is_refused(
    numbers: str, reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A negative one is stored as PTX does, which names such a parameter u8, u16 or u32."""
    path = tmp_path / "narrow.cu"
    path.write_text(
        "__global__ void k(char a, bool b, short c, int d, int* o) {*o = a + b + c + d;}"
    )
    call = ("--args", f"{numbers} o:out:1", "--grid", "1", "--block", "1", "--expect", "o=-5")
    status, _, err = run(capsys, str(path), *call)
    assert (status, reason in err) == (2 if reason else 0, True)
