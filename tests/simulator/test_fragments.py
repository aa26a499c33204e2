"""Which lane holds which element of ``mma.sync``."""

import numpy as np
import pytest

from sgemm_lab.simulator.fragments import PACKED, holders


def test_lanes_of_tf32_hold_what_nvidias_manual_says() -> None:
    a, b, c = (np.stack(matrix[:2], axis=-1).tolist() for matrix in holders("tf32", 8))
    # a1 and a3 are of the lower rows.
    assert a == [
        [[row % 8 * 4 + k % 4, row // 8 + k // 4 * 2] for k in range(8)] for row in range(16)
    ]
    assert b == [[[column * 4 + k % 4, k // 4] for column in range(8)] for k in range(8)]
    assert c == [
        [[row % 8 * 4 + column // 2, column % 2 + row // 8 * 2] for column in range(8)]
        for row in range(16)
    ]


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
