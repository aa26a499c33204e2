"""Fragments of ``mma.sync`` in TF32 as the widget takes them, by the formulas of the PTX manual."""

from sgemm_lab.widgets.fragment_map import Fragments

TF32: Fragments = {
    "label": "TF32",
    "note": "One element in a register.",
    # a1 and a3 are of the lower rows.
    "A": [[(row % 8 * 4 + k % 4, row // 8 + k // 4 * 2) for k in range(8)] for row in range(16)],
    "B": [[(column * 4 + k % 4, k // 4) for column in range(8)] for k in range(8)],
    "C": [
        [(row % 8 * 4 + column // 2, column % 2 + row // 8 * 2) for column in range(8)]
        for row in range(16)
    ],
}
