"""The fragment map as a page shows it: of the instructions that kernels give, by the simulator."""

import re
from collections.abc import Sequence

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.simulator.fragments import Holders, holders
from sgemm_lab.widgets import FragmentMap
from sgemm_lab.widgets.fragment_map import Fragments, Holder

Shape = tuple[str, int]
"""The type of A and B as PTX writes it, and how many products a sum takes."""

_INSTRUCTION = re.compile(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.f32\.(\w+)\.")
_TYPES = {"tf32": "TF32", "f16": "FP16", "bf16": "BF16"}


def fragment_map(*names: str, others: Sequence[Shape] = ()) -> FragmentMap:
    """Show which lane of a warp holds which element, where these kernels multiply by ``mma.sync``.

    ``others`` adds instructions that no kernel has, each as type and depth, such as ("f16", 16).

    Raises:
        LabError: a kernel does not multiply by ``mma.sync``.
    """
    users: dict[Shape, list[str]] = {}
    for name in names:
        users.setdefault(shape_of(name), []).append(name)
    shapes = [*users, *(shape for shape in others if shape not in users)]
    return FragmentMap([_fragments(shape, users.get(shape, [])) for shape in shapes])


def shape_of(name: str) -> Shape:
    """Return the type and the depth of the ``mma.sync`` in a kernel's file.

    Raises:
        LabError: it has none, or several.
    """
    found = {(kind, int(depth)) for depth, kind in _INSTRUCTION.findall(load_kernel(name).source)}
    if len(found) != 1:
        raise LabError(f"'{name}' has {len(found)} kinds of mma.sync; name a kernel with one.")
    return found.pop()


def _fragments(shape: Shape, users: Sequence[str]) -> Fragments:
    kind, depth = shape
    a, b, c = (_rows(matrix) for matrix in holders(kind, depth))
    size = f"{len(c)}×{len(c[0])}×{depth}"
    who = " and ".join(users) or "No kernel of the book has it"
    held = 1 + max(place for row in a for _, _, place in row)
    fill = "one element" if held == 1 else f"{held} elements, neighbours along k"
    return {
        "label": f"{_TYPES[kind]}, k = {depth}",
        "note": f"{who}: {size}. A register of A or B holds {fill}.",
        "A": a,
        "B": b,
        "C": c,
    }


def _rows(matrix: Holders) -> list[list[Holder]]:
    return [
        [(int(lane), int(register), int(one)) for lane, register, one in zip(*row, strict=True)]
        for row in zip(*matrix, strict=True)
    ]
