"""Blocks and warps in other orders: what depends on one is reported with the seed that shows it."""

import json
from pathlib import Path

import numpy as np
import pytest
from file_reports import checked

from sgemm_lab.cli.main import main
from sgemm_lab.external_cuda import ExternalKernel, Pasted, check_file, count_external
from sgemm_lab.external_cuda.launch import Settings

PLACES = """
__global__ void collect(const int* x, int* count, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[atomicAdd(count, 1)] = x[i];
}
"""
EARLY = """
__global__ void early(int* count, int* y) {
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        y[blockIdx.x] = *(volatile int*)count;
    }
}
"""
ORDERED = """
__global__ void ordered(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(y, x[i]);
}
"""
WEIGHTS = """
__global__ void weights(const float* x, float* y, float* total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = x[i] * x[i] + 1;
    atomicAdd(total, w);
    __syncthreads();
    y[i] = 0.02f * w / *(volatile float*)total;
}
"""
"""Small results, of which each block's depend on how many others have added."""
CALLS = {
    WEIGHTS: "x:in:256 y:out:256 total:zero:1",
    PLACES: "x:in:1024 count:zero:1 y:out:1024 n=1024",
    EARLY: "count:zero:1 y:out:4",
    ORDERED: "x:in:1024 y:zero:1 n=1024",
}


def kernel(text: str) -> ExternalKernel:
    block = "256" if text in (PLACES, ORDERED) else "64"
    return ExternalKernel(Pasted("a.cu", text, Path()), ("4",), (block,), arguments=CALLS[text])


@pytest.mark.parametrize(
    ("text", "severity"), [(PLACES, "information"), (EARLY, "warning"), (WEIGHTS, "warning")]
)
def test_a_result_that_depends_on_the_order_is_reported(text: str, severity: str) -> None:
    (report,) = check_file(kernel(text))
    (finding,) = report.findings
    assert (finding.kind, finding.severity, finding.array) == ("order", severity, "y")
    order = "--order 1" if text is PLACES else "--schedule warps --order 2"
    assert str(finding).endswith(f" It shows with {order}.")


RANKS = """
__global__ void keep(const float* x, float* y, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned votes = __ballot_sync(~0u, x[i] > 0);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (x[i] > 0) y[base + __popc(votes & MASK)] = x[i];
}
"""


@pytest.mark.parametrize(
    ("mask", "skips"), [("(1u << lane) - 1", False), ("(2u << lane) - 1", True)]
)
def test_a_place_that_no_thread_takes_is_reported(mask: str, skips: bool) -> None:
    given = "x:in:1024 y:inout:1100 count:zero:1 n=1024"
    text = RANKS.replace("MASK", f"({mask})")
    report = checked(text, grid=("4",), block=("256",), arguments=given)
    found = [one.message for one in report.findings if one.severity == "warning"]
    assert ["elements 1 to" in one and "not 0." in one for one in found] == [True] * skips


def test_sums_of_atomics_do_not_depend_on_it() -> None:
    (report,) = check_file(kernel(ORDERED))
    assert report.findings == ()
    assert (
        "Blocks and warps also ran in other orders: --order 1, --schedule warps --order 2."
        in report.said
    )


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (Settings(order=1), "--order 1"),
        (Settings(order=2, schedule="warps"), "--schedule warps --order 2"),
    ],
)
def test_the_same_seed_gives_the_same_order(settings: Settings, options: str) -> None:
    first, again = (count_external(kernel(PLACES), (1, 1, 1), settings=settings) for _ in range(2))
    np.testing.assert_array_equal(first.after["y"], again.after["y"])
    usual = count_external(kernel(PLACES), (1, 1, 1), other_orders=True)
    assert (first.after["y"] != usual.after["y"]).any()
    np.testing.assert_array_equal(np.sort(first.after["y"]), np.sort(usual.after["y"]))
    assert options in usual.tried
    assert len(usual.others) == 1


def test_the_command_runs_the_order_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.cu").write_text(EARLY)
    call = ["count", str(tmp_path / "a.cu"), "--args", CALLS[EARLY], "--grid", "4"]
    call += ["--block", "64", "--fail-on", "warning"]
    assert main([*call, "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["kind"], finding["order"]) == ("order", "--schedule warps --order 2")
    assert main([*call, "--expect", "y = 4", "--order", "2"]) == 0
    assert main([*call, "--expect", "y = 4", "--order", "2", "--schedule", "warps"]) == 1
    assert "y is WRONG" in capsys.readouterr().out
