"""Exported CUDA files: the same launch as the book's, for every kernel; nothing is overwritten."""

import math
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.checking.export import exported, shape_term
from sgemm_lab.cli.main import main
from sgemm_lab.kernel import Kernel

SIZES = [(1, 1, 1), (33, 31, 70), (129, 130, 131), (4096, 4096, 4096), (16, 8191, 5)]


@pytest.mark.parametrize("kernel", load_kernels(variants=True), ids=lambda kernel: kernel.name)
def test_the_launch_is_the_books(kernel: Kernel) -> None:
    terms = [*kernel.grid, *kernel.block, kernel.shared, kernel.workspace]
    text = exported(kernel, (4096, 4096, 4096))
    for m, n, k in SIZES:
        shape = kernel.launch_shape(m, n, k, sms=114)
        names = {**kernel.values, "M": m, "N": n, "K": k, "SMS": 114}
        functions = {"ceil": math.ceil, "larger": max, "smaller": min}
        found = [eval(shape_term(term), {}, {**names, **functions}) for term in terms]
        expected = [*shape.grid, *shape.block, shape.shared_bytes, shape.workspace_bytes]
        assert found == expected
    assert all(shape_term(term) in text for term in terms)
    assert kernel.source in text
    assert "@" not in text.removeprefix(kernel.source).partition("namespace program")[2]


def test_a_workspace_has_the_type_of_the_parameter() -> None:
    text = exported(load_kernel("split_k"), (64, 64, 64))
    assert "float4* workspace;" in text
    assert "(A, B, C, M, N, K, workspace)" in text


def test_the_command_writes_and_does_not_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["export", "wgmma_tf32:BN=128,WN=64", "--out", str(tmp_path)]
    assert main(call) == main(call) == 0
    path = tmp_path / "wgmma_tf32-BN128-WN64.cu"
    command = "nvcc -O3 -std=c++17 -arch=sm_90a -o wgmma_tf32-BN128-WN64 wgmma_tf32-BN128-WN64.cu"
    assert command in capsys.readouterr().out
    assert command in path.read_text()
    path.write_text("mine")
    assert main(call) == 2
    assert "exists and differs" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main([*call, "--force"]) == 0
