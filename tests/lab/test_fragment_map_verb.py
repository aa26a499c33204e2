"""The verb of the fragment map: what it shows is what the simulator multiplies by."""

import numpy as np
import pytest
from fragment_samples import TF32

from sgemm_lab import lab
from sgemm_lab.simulator.fragments import PACKED, holders


def test_the_book_shows_what_nvidias_manual_says() -> None:
    widget = lab.fragment_map("mma_tf32")
    for matrix in "ABC":
        assert widget.fragments[matrix] == TF32[matrix]  # type: ignore[literal-required]


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
