"""The fragment map as a page shows it: of the instruction that a kernel gives, by the simulator."""

import re

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.simulator.fragments import Holders, holders
from sgemm_lab.widgets import FragmentMap
from sgemm_lab.widgets.fragment_map import Holder

_INSTRUCTION = re.compile(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.f32\.tf32\.")


def fragment_map(name: str) -> FragmentMap:
    """Show which lane of a warp holds which element, for the ``mma.sync`` in TF32 of a kernel.

    Raises:
        LabError: the kernel has no such instruction, or several.
    """
    found = {int(depth) for depth in _INSTRUCTION.findall(load_kernel(name).source)}
    if len(found) != 1:
        raise LabError(f"'{name}' has {len(found)} kinds of mma.sync; name a kernel with one.")
    (depth,) = found
    a, b, c = (_rows(matrix) for matrix in holders("tf32", depth))
    size = f"{len(c)}×{len(c[0])}×{depth}"
    return FragmentMap(
        {
            "label": f"TF32, k = {depth}",
            "note": f"{name}: {size}. A register of A or B holds one element.",
            "A": a,
            "B": b,
            "C": c,
        }
    )


def _rows(matrix: Holders) -> list[list[Holder]]:
    lanes, registers, _ = matrix
    return [
        [(int(lane), int(register)) for lane, register in zip(*row, strict=True)]
        for row in zip(lanes, registers, strict=True)
    ]
