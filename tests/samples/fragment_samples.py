"""Fragments of ``mma.sync`` as the widget takes them, by the formulas of NVIDIA's PTX manual."""

from sgemm_lab.widgets.fragment_map import Fragments, Holder


def _of_a(row: int, k: int, packed: int) -> Holder:
    """A register has one element of TF32 or two of FP16; a1 and a3 are of the lower rows."""
    lower, further = row // 8, k // (4 * packed)
    return row % 8 * 4 + k // packed % 4, lower + 2 * further, k % packed


def _of_b(k: int, column: int, packed: int) -> Holder:
    return column * 4 + k // packed % 4, k // (4 * packed), k % packed


def _of_c(row: int, column: int) -> Holder:
    return row % 8 * 4 + column // 2, column % 2 + 2 * (row // 8), 0


def fragments(label: str, depth: int, packed: int) -> Fragments:
    """An instruction that sums so many products, of elements of which a register has so many."""
    return {
        "label": label,
        "note": f"Of {packed} in a register.",
        "A": [[_of_a(row, k, packed) for k in range(depth)] for row in range(16)],
        "B": [[_of_b(k, column, packed) for column in range(8)] for k in range(depth)],
        "C": [[_of_c(row, column) for column in range(8)] for row in range(16)],
    }


INSTRUCTIONS = [
    fragments("TF32", 8, 1),
    fragments("FP16", 8, 2),
    fragments("FP16, deep", 16, 2),
]
