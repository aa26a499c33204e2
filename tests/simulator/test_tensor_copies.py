"""Copies of boxes by tensor maps, and clusters of blocks that share what they copy."""

import re
from typing import Any

import numpy as np
import pytest
from golden_launch import Case
from simulator_kernels import kernel_text, ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result, simulate
from sgemm_lab.tensor_map import TensorMap

ROWS, COLUMNS, PITCH = 19, 21, 24
BOX_ROWS = 16

SOURCE = kernel_text("tensor_copies")
ALONE = """
    __syncthreads();
    if (threadIdx.x == 0) { expect(&filled, BYTES); copy(box START, map, x, y, &filled); }
    WAIT
    for (int i = threadIdx.x; i < BYTES / 4; i += 32) to[i] = box[i];
"""
WAIT = "waitFor(&filled, 0);"


def case_of(
    tensor: TensorMap, a: np.ndarray, *, x: int = 0, y: int = 0, body: str = ALONE,
    wait: str = WAIT, start: str = "", cluster: int = 1, readers: int = 1,
) -> Case:  # fmt: skip
    """Return a launch that copies boxes."""
    size = BOX_ROWS * tensor.box_columns * tensor.element_bytes
    source = SOURCE.replace("BODY", body).replace("WAIT", wait).replace("START", start)
    source = source.replace("CLUSTER", f"__cluster_dims__({cluster}, 1, 1)" if cluster > 1 else "")
    ptx = ptx_of(source, "sm_90a", f"BYTES={size}", f"READERS={readers}")
    c = np.zeros((cluster, size), np.uint8).view(np.uint32)
    arguments = {"A": a, "C": c, "x": x, "y": y, "map": tensor}
    name = f"{tensor} {x} {y} {wait} {start}"
    return Case(name, ptx, "k", (cluster,), (32,), arguments)


def run(*how: Any, **options: Any) -> tuple[Result, np.ndarray]:
    """Copy boxes; return the bytes that came to shared memory, by block."""
    result = case_of(*how, **options).simulate()
    return result, result.arrays["C"].view(np.uint8)


def tensor_map(dtype: str = "fp32", columns: int = 8, swizzle: int = 0) -> TensorMap:
    size = 2 if dtype in ("fp16", "bf16") else 4
    return TensorMap(
        "map", dtype, "A", None, ROWS, COLUMNS, size * PITCH, BOX_ROWS, columns, swizzle
    )


def matrix(dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (ROWS, PITCH)).astype(dtype)


def box_of(a: np.ndarray, x: int, y: int, columns: int) -> np.ndarray:
    """Rows y to y + 16 and columns from x, zeros outside of the matrix."""
    found = np.zeros((BOX_ROWS, columns), a.dtype)
    for row in range(BOX_ROWS):
        for column in range(columns):
            if 0 <= y + row < ROWS and 0 <= x + column < COLUMNS:
                found[row, column] = a[y + row, x + column]
    return found


@pytest.mark.parametrize(("x", "y"), [(0, 0), (16, 8), (-3, -2), (40, 0)])
def test_a_box_without_swizzle_is_zero_outside_of_the_matrix(x: int, y: int) -> None:
    a = matrix()
    result, found = run(tensor_map(), a, x=x, y=y)
    assert result.hazards == []
    assert found[0].tobytes() == box_of(a, x, y, 8).tobytes()
    assert result.counts.total.async_copy_bytes == BOX_ROWS * 8 * 4
    rows, columns = np.nonzero(box_of(a, x, y, 8))
    sectors = len({(row, (x + column) // 8) for row, column in zip(rows, columns, strict=True)})
    assert result.counts.total.async_copy_sectors == sectors


@pytest.mark.parametrize(("swizzle", "mask"), [(128, 7), (64, 3), (32, 1)])
def test_a_swizzle_permutes_the_pieces_of_rows(swizzle: int, mask: int) -> None:
    a, columns = matrix(np.float16), swizzle // 2
    _, found = run(tensor_map("fp16", columns, swizzle), a)
    pieces = box_of(a, 0, 0, columns).view(np.uint8).reshape(BOX_ROWS, -1, 16)
    for row in range(BOX_ROWS):
        for piece in range(swizzle // 16):
            start = row * swizzle + 16 * (piece ^ (row * swizzle // 128 & mask))
            assert np.array_equal(found[0, start : start + 16], pieces[row, piece])


def test_tf32_rounds_to_even() -> None:
    a = matrix()
    a[0, :4] = [1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, np.inf]
    _, found = run(tensor_map("tf32"), a)
    rows = found[0].view(np.float32).reshape(BOX_ROWS, 8)
    assert rows[0, :4].tolist() == [1.0, 1 + 2.0**-9, -1.0, np.inf]
    assert (rows.view(np.uint32) & 0x1FFF == 0).all()
    assert (np.abs(rows[1:] - a[1:BOX_ROWS, :8]) <= np.abs(rows[1:]) * 2.0**-11).all()


SHARED = """
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    meet();
    if (threadIdx.x == 0) {
        for (int round = 0; round < ROUNDS; ++round) {
            if (round) WAIT_EMPTIED
            expect(&filled, BYTES);
            copyToAll(box + rank() * BYTES / 8, map, x, y + 8 * (int)rank(), &filled, 3);
            waitFor(&filled, round & 1);
            for (int i = 0; i < BYTES / 4; ++i) to[i] = box[i] + round;
            arrive(&emptied, 0);
            arrive(&emptied, 1);
        }
    }
    meet();
"""


@pytest.mark.parametrize("rounds", [1, 3])
def test_blocks_of_a_cluster_share_a_box(rounds: int) -> None:
    body = SHARED.replace("ROUNDS", str(rounds))
    body = body.replace("WAIT_EMPTIED", "waitFor(&emptied, (round & 1) ^ 1);")
    half = TensorMap("map", "fp32", "A", None, ROWS, COLUMNS, 4 * PITCH, BOX_ROWS // 2, 8, 0)
    a = matrix()
    result, found = run(half, a, body=body, cluster=2, readers=2)
    assert result.hazards == []
    wanted = box_of(a, 0, 0, 8).view(np.uint32).reshape(-1) + np.uint32(rounds - 1)
    assert [row.view(np.uint32).tolist() for row in found] == [wanted.tolist()] * 2
    # Both blocks get all bytes; each reads half of the sectors.
    total = result.counts.total
    assert total.async_copy_bytes == rounds * 2 * BOX_ROWS * 8 * 4
    assert total.async_copy_sectors == rounds * BOX_ROWS


def test_a_block_that_does_not_wait_for_the_other_races() -> None:
    body = SHARED.replace("ROUNDS", "2").replace("WAIT_EMPTIED", "{}")
    half = TensorMap("map", "fp32", "A", None, ROWS, COLUMNS, 4 * PITCH, BOX_ROWS // 2, 8, 0)
    result, _ = run(half, matrix(), body=body, cluster=2, readers=2)
    assert any("copies to box" in str(one) for one in result.hazards)


WRONG = {
    "still filling": {"wait": ""},
    "not at a multiple of 128 bytes": {"start": "+ 8"},
    "of emptied, which has": {"start": "+ 32"},
}
"""What is said of a change."""


@pytest.mark.parametrize(("sentence", "changed"), WRONG.items())
def test_what_is_wrong_with_a_copy_is_a_sentence(sentence: str, changed: dict[str, Any]) -> None:
    result, _ = run(tensor_map(), matrix(), **changed)
    assert any(re.search(sentence, str(one)) for one in result.hazards)


def test_a_matrix_larger_than_its_array_is_out_of_bounds() -> None:
    result, _ = run(tensor_map(), matrix()[:4], wait="")
    assert any(
        "copies from" in str(one) and "of A, which has" in str(one) for one in result.hazards
    )


def test_a_grid_that_clusters_do_not_divide_is_a_sentence() -> None:
    source = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* C) { C[0] = 1; }'
    ptx = ptx_of(source, "sm_90a")
    with pytest.raises(LabError, match="which clusters of 2 do not divide"):
        simulate(ptx, "k", (3,), (32,), {"C": np.zeros(4, np.int32)})


@pytest.mark.parametrize(
    ("waits", "stays"), [("true", True), ("blockIdx.x == 1", True), ("false", False)]
)
def test_a_block_stays_while_others_read_its_shared_memory(waits: str, stays: bool) -> None:
    """Its threads wait for those of the reader to come to the barrier or to return."""
    meet = 'asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");'
    source = f"""extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* C) {{
        __shared__ int mine;
        if (threadIdx.x == 0) mine = 3;
        {meet}
        if (blockIdx.x == 0 && threadIdx.x == 0)
            asm volatile("{{ .reg .b32 there; mapa.shared::cluster.u32 there, %1, 1;"
                " ld.shared::cluster.u32 %0, [there]; }}" : "=r"(C[0])
                : "r"(unsigned(__cvta_generic_to_shared(&mine))) : "memory");
        if ({waits}) {meet}
    }}"""
    given = {"C": np.zeros(4, np.int32)}
    result = simulate(ptx_of(source, "sm_90a"), "k", (2,), (32,), given)
    assert ["may have returned by then" in str(one) for one in result.hazards] == [True] * (
        not stays
    )
