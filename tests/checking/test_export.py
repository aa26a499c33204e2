"""Exported CUDA files: the same launch as the book's, for every kernel; nothing is overwritten."""

import math
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.checking.export import exported, shape_term
from sgemm_lab.cli.main import main
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel

SIZES = [(1, 1, 1), (33, 31, 70), (129, 130, 131), (4096, 4096, 4096), (16, 8191, 5)]


@pytest.mark.parametrize(
    "kernel",
    [one for one in load_kernels(variants=True) if one.input_bytes == 4],
    ids=lambda kernel: kernel.name,
)
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
    call = ["export", "wgmma_tf32:STAGES=2", "--out", str(tmp_path)]
    assert main(call) == main(call) == 0
    path = tmp_path / "wgmma_tf32-STAGES2.cu"
    command = (
        "nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a "
        "-o wgmma_tf32-STAGES2 wgmma_tf32-STAGES2.cu -lcuda"
    )
    assert command in capsys.readouterr().out
    assert command in path.read_text()
    path.write_text("mine")
    assert main(call) == 2
    assert "exists and differs" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main([*call, "--force"]) == 0


def test_tensor_maps_are_made_from_the_head_comment() -> None:
    text = exported(load_kernel("wgmma_tf32"), (64, 64, 64))
    assert "(A, B, C, M, N, K, workspace, mapA, mapB)" in text
    assert "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, size_t(A) % 16 == 0 && size_t(K) % 4 == 0 ? " in text
    assert "16 * ceil(K / 4),\n                   BM / CLUSTER," in text
    with pytest.raises(LabError, match=r"takes FP16. Export wgmma_fp16, which rounds FP32"):
        exported(load_kernel("wgmma_fp16:INPUT=16"), (64, 64, 64))
