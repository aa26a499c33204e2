"""Products of warp groups: layouts of factors and sums, and hazards of what runs on its own."""

import re
from typing import Any

import numpy as np
import pytest
from golden_launch import Case
from simulator_kernels import kernel_text, ptx_of

from sgemm_lab.simulator import Result

N = 128
_WIDTHS = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a row of the pattern, by the swizzle of a descriptor."""


def product(type_: str, n: int, *, a_in_registers: bool = False, turned: str = "") -> str:
    """Return the inline assembly of one product."""
    sums = ", ".join(f"%{i}" for i in range(n // 2))
    next_one = n // 2
    a = "{" + ", ".join(f"%{next_one + i}" for i in range(4)) + "}" if a_in_registers else (
        f"%{next_one}")  # fmt: skip
    next_one += 4 if a_in_registers else 1
    k = 8 if type_ == "tf32" else 16
    given = ", ".join(f'"+f"(d[{i}])' for i in range(n // 2))
    a_given = ", ".join(f'"r"(a[{i}])' for i in range(4)) if a_in_registers else '"l"(a)'
    return (
        f'asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{next_one + 1}, 0; '
        f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{type_}.{type_} "
        f'{{{sums}}}, {a}, %{next_one}, p, SIGNS{turned}; }}"'
        f' : {given} : {a_given}, "l"(b), "r"(add))'
    )


SOURCE = kernel_text("warp_group")
FENCE = 'asm volatile("wgmma.fence.sync.aligned;" ::: "memory")'
IN_LANES = "unsigned a[4]; for (int i = 0; i < 4; ++i) a[i] = inLanes[4 * threadIdx.x + i]"


def raw(matrix: np.ndarray, type_: str) -> np.ndarray:
    """The bits of a matrix's elements; bf16 and tf32 hold small whole numbers exactly."""
    if type_ == "tf32":
        return matrix.view(np.uint32)
    return (
        matrix.astype(np.float16).view(np.uint16) if type_ == "f16"
        else (matrix.view(np.uint32) >> 16).astype(np.uint16)
    )  # fmt: skip


def image_of(rows: np.ndarray, swizzle: int, *, turned: bool) -> tuple[np.ndarray, int]:
    """Lay out rows × k in shared memory as the pictures of the PTX manual show it.

    Returns:
        The bytes, and the descriptor of a matrix that starts at 0.
    """
    width, size = _WIDTHS[swizzle], rows.dtype.itemsize
    t = 16 // size
    count, depth = rows.shape
    image = np.zeros((16384,), np.uint8)
    if turned:
        in_row = width // 16
        block, group = 8 * width * depth // 8, 8 * width  # blocks of rows; groups of 8 k
        for r in range(count):
            for k in range(depth):
                piece = r // t % in_row ^ (k * width // 128 % 8 % in_row)
                at = r // t // in_row * block + k // 8 * group + k % 8 * width
                at += piece * 16 + r % t * size
                image[at : at + size] = rows[r : r + 1, k].view(np.uint8)
        leading, stride = (group, block) if swizzle == 0 else (block, group)
    else:
        group = 8 * width if swizzle else 256
        for r in range(count):
            for k in range(depth):
                pieces = width // 16
                piece = k // t ^ (r * width // 128 % 8 % pieces) if swizzle else 0
                at = r // 8 * group + r % 8 * width + piece * 16 + k % t * size
                at += 0 if swizzle else k // t * 128
                image[at : at + size] = rows[r : r + 1, k].view(np.uint8)
        leading, stride = 128, group
    return image, leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62


def case_of(
    type_: str, swizzle: int, *, registers: bool = False, turned: str = "", signs: str = "1, 1",
    add: int = 1, fence: str = FENCE, before: str = "", shift: int = 0,
) -> tuple[Case, np.ndarray]:  # fmt: skip
    """Return a launch with one product of small whole numbers, and A·B."""
    depth = 8 if type_ == "tf32" else 16
    draw = np.random.default_rng(swizzle + depth)
    a, b = (draw.integers(-8, 9, (count, depth)).astype(np.float32) for count in (64, N))
    turn_a, turn_b = turned.startswith(", 1"), turned.endswith("1")
    image_a, descriptor_a = image_of(raw(a, type_), swizzle, turned=turn_a)
    image_b, descriptor_b = image_of(raw(b, type_), swizzle, turned=turn_b)
    image = np.concatenate([image_a, image_b]).view(np.uint32)
    packed = raw(a, type_).view(np.uint32)  # rows of 8 registers, or 2 elements in each
    lane = np.arange(128)
    row, inside = lane // 32 * 16 + lane % 32 // 4, lane % 4
    in_lanes = np.stack([packed[row + 8 * (i % 2), inside + 4 * (i // 2)] for i in range(4)], 1)
    a_factor = IN_LANES if registers else "unsigned long long a = a_ + start"
    source = (
        SOURCE.replace("A_FACTOR", a_factor).replace("FENCE", fence).replace("BEFORE", before)
        .replace("PRODUCT", product(type_, N, a_in_registers=registers, turned=turned))
        .replace("SIGNS", signs)
    )  # fmt: skip
    arguments = {
        "image": image, "inLanes": np.ascontiguousarray(in_lanes),
        "D": np.zeros((128, N // 2), np.float32), "bytes": image.nbytes,
        "aLow": descriptor_a % 2**32 + shift, "aHigh": descriptor_a >> 32,
        "bLow": descriptor_b % 2**32 + 1024 + shift, "bHigh": descriptor_b >> 32, "add": add,
    }  # fmt: skip
    ptx = ptx_of(source, "sm_90a", f"N={N}")
    name = f"{type_} {swizzle} {registers} {turned} {signs} {add} {fence} {before} {shift}"
    return Case(name, ptx, "k", (1,), (128,), arguments, image.nbytes), a @ b.T


def run(*how: Any, **options: Any) -> tuple[Result, np.ndarray, np.ndarray]:
    """Run one product; return what came, its sums, and A·B."""
    case, wanted = case_of(*how, **options)
    result = case.simulate()
    d = np.empty((64, N), np.float32)
    for thread, register in np.ndindex(128, N // 2):
        at_row = thread // 32 * 16 + thread % 32 // 4 + 8 * (register // 2 % 2)
        at_column = register // 4 * 8 + thread % 4 * 2 + register % 2
        d[at_row, at_column] = result.arrays["D"][thread, register]
    return result, d, wanted


@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("type_", "turned"),
    [("f16", ", 0, 0"), ("f16", ", 1, 0"), ("f16", ", 0, 1"), ("bf16", ", 1, 1"), ("tf32", "")],
)
def test_factors_in_shared_memory(type_: str, turned: str, swizzle: int) -> None:
    result, d, wanted = run(type_, swizzle, turned=turned)
    assert result.hazards == []
    assert np.array_equal(d, wanted + 1)
    assert result.counts.total.flop == 2 * 64 * N * (8 if type_ == "tf32" else 16)


@pytest.mark.parametrize(("type_", "turned"), [("f16", ", 1"), ("bf16", ", 0"), ("tf32", "")])
def test_the_first_factor_in_registers(type_: str, turned: str) -> None:
    result, d, wanted = run(type_, 1, registers=True, turned=turned)
    assert result.hazards == []
    assert np.array_equal(d, wanted + 1)


def test_signs_and_a_fresh_sum() -> None:
    _, d, wanted = run("f16", 1, turned=", 0, 0", signs="-1, 1")
    assert np.array_equal(d, 1 - wanted)
    _, d, wanted = run("f16", 1, turned=", 0, 0", signs="-1, -1", add=0)
    assert np.array_equal(d, wanted)


WRONG: dict[str, dict[str, Any]] = {
    "uses a sum of a wgmma": {"before": 'd[0] += 1.0f; asm volatile("" : "+f"(d[0]))'},
    "may still read": {"before": "image_[threadIdx.x] = 0"},
    "Put a wgmma.fence before": {"fence": "int unused"},
    "shared memory the kernel has not declared|which has": {"shift": 4096},
}
"""What is said of a change."""


@pytest.mark.parametrize(("sentence", "changed"), WRONG.items())
def test_what_is_wrong_with_a_product_is_a_sentence(sentence: str, changed: dict[str, Any]) -> None:
    result, _, _ = run("f16", 1, turned=", 0, 0", **changed)
    assert any(re.search(sentence, str(one)) for one in result.hazards)
