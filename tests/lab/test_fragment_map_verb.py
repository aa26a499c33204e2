"""The verb of the fragment map: what it shows is what the simulator multiplies by."""

import json

import numpy as np
import pytest
from fragment_samples import INSTRUCTIONS

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab.fragment_map import shape_of
from sgemm_lab.simulator.fragments import PACKED, holders


def test_the_book_shows_what_nvidias_manual_says() -> None:
    widget = lab.fragment_map("mma_tf32", others=[("f16", 8), ("f16", 16)])
    found = json.loads(json.dumps([{m: one[m] for m in "ABC"} for one in widget.instructions]))
    assert found == [
        {matrix: [[list(held) for held in row] for row in one[matrix]] for matrix in "ABC"}  # type: ignore[literal-required]
        for one in INSTRUCTIONS
    ]


def test_a_kernel_without_the_instruction_is_refused() -> None:
    with pytest.raises(LabError, match=r"'naive' has 0 kinds of mma\.sync"):
        shape_of("naive")


@pytest.mark.parametrize(("kind", "depth"), [("tf32", 8), ("f16", 8), ("f16", 16), ("bf16", 16)])
def test_every_place_of_every_register_holds_one_element(kind: str, depth: int) -> None:
    for matrix, packed in zip(holders(kind, depth), (PACKED[kind], PACKED[kind], 1), strict=True):
        one = np.stack(matrix).reshape(3, -1).T
        registers = len(one) // 32 // packed
        assert sorted(map(tuple, one.tolist())) == [
            (lane, register, place)
            for lane in range(32)
            for register in range(registers)
            for place in range(packed)
        ]
