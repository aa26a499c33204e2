"""The trace of a launch: every access, product and first fault."""

import numpy as np
from simulator_kernels import ptx_of, run_gemm

from sgemm_lab.simulator import simulate


def test_every_access_of_a_toy_product() -> None:
    args, result = run_gemm("tiled", 2, 3, 4, trace=True)
    trace = result.trace
    assert trace is not None
    assert trace.complete
    columns = trace.columns
    assert {len(column) for column in columns.values()} == {len(trace)}
    arrays = {entry["name"]: number for number, entry in enumerate(trace.arrays)}
    assert {(entry["name"], entry["space"]) for entry in trace.arrays} == {
        ("A", "global"), ("B", "global"), ("C", "global"), ("As", "shared"), ("Bs", "shared"),
    }  # fmt: skip
    assert trace.arrays[arrays["A"]]["shape"] == [2, 4]
    assert trace.arrays[arrays["As"]]["shape"] == [64]
    # Every element of A is read once, with its value, by the thread at its place.
    reads = (columns["array"] == arrays["A"]) & (columns["store"] == 0)
    assert sorted(columns["element"][reads]) == list(range(8))
    for element, value, thread in zip(
        columns["element"][reads], columns["value"][reads], columns["thread"][reads], strict=True
    ):
        assert value == args["A"].reshape(-1)[element]
        assert thread == element // 4 * 8 + element % 4
    stores = (columns["array"] == arrays["C"]) & (columns["store"] == 1)
    assert np.array_equal(
        columns["value"][stores][np.argsort(columns["element"][stores])].astype(np.float32),
        result.arrays["C"].reshape(-1),
    )
    # Tiles are filled before the first barrier and read after it.
    tile = columns["array"] == arrays["As"]
    assert set(columns["epoch"][tile & (columns["store"] == 1)]) == {0}
    assert set(columns["epoch"][tile & (columns["store"] == 0)]) == {1}
    assert (np.diff(columns["step"]) >= 0).all()


def test_the_first_fault_of_each_block_is_kept() -> None:
    source = """
    extern "C" __global__ void k(const int* A, int* C) {
        int i = blockIdx.x * 32 + threadIdx.x;
        C[i] = A[i] + 1;
        C[i + 32] = A[i + 32];
    }"""
    arrays = {"A": np.arange(80, dtype=np.int32), "C": np.zeros(96, dtype=np.int32)}
    result = simulate(ptx_of(source), "k", (3,), (32,), arrays, trace=True)
    assert result.trace is not None
    arrays_by_name = {entry["name"]: number for number, entry in enumerate(result.trace.arrays)}
    second, third = sorted(result.trace.faults, key=lambda fault: fault.block)
    # Block 1 reads elements 64 to 95 in its second line, of 80; block 2 in its first.
    assert (second.block, second.line, third.block, third.line) == (1, 5, 2, 4)
    assert second.step > third.step
    assert second.array == third.array == arrays_by_name["A"]
    assert second.elements == []
    assert not second.store
    for fault, who in ((second, "16 of block 1"), (third, "16 of block 2")):
        assert f"thread {who} reads element 80 of A, which has 80" in fault.message
    assert result.hazards[0].message == third.message
