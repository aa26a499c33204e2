"""Calls functions inside the simulator: what ``inside.js`` exports."""

from pathlib import Path
from typing import Any

import numpy as np
from golden_launch import Case
from in_node import in_node

ENTRY = Path(__file__).with_name("inside.js")


def inside(name: str, *given: Any) -> Any:
    """Return what a function gives."""
    (found,) = in_node(ENTRY, [[name, *given]])
    return found


def plain_launch(case: Case) -> dict[str, Any]:
    """Return a launch of arrays of 32-bit words as JSON."""
    args = [
        [
            name,
            {"type": one.dtype.name, "words": one.view(np.uint32).ravel().tolist(),
             "shape": one.shape}
            if isinstance(one, np.ndarray)
            else one,
        ]
        for name, one in case.args.items()
    ]  # fmt: skip
    camel = {"max_basic_blocks": "maxBasicBlocks"}
    options = {camel.get(name, name): value for name, value in case.options.items()}
    return {
        "ptx": case.ptx, "entry": case.entry, "grid": case.grid, "block": case.block,
        "args": args, "options": options,
    }  # fmt: skip
