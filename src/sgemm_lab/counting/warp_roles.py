"""Warp roles: which warps of a block execute the same instructions.

In a warp-specialised kernel some warps copy and others multiply, each at its own pace. A picture of
such a launch has a lane for each role.
"""

from collections.abc import Sequence

import numpy as np

from sgemm_lab.hardware import WARP
from sgemm_lab.simulator import Trace


def roles_in(trace: Trace) -> list[list[int]]:
    """Group warps that share a source line that reads, writes or multiplies."""
    of_line: dict[int, set[int]] = {}
    starts: dict[int, int] = {}  # of each warp, the first step
    for columns in (trace.columns, trace.products):
        warps = columns["thread"] // WARP
        for line in np.unique(columns["line"]).tolist():
            of_line.setdefault(line, set()).update(warps[columns["line"] == line].tolist())
        for warp in np.unique(warps).tolist():
            first = int(columns["step"][warps == warp].min())
            starts[warp] = min(first, starts.get(warp, first))
    roles: list[set[int]] = []
    for those in of_line.values():
        others = [role for role in roles if not role & those]
        roles = [*others, those.union(*(role for role in roles if role & those))]
    return sorted(map(sorted, roles), key=lambda role: min(starts[warp] for warp in role))


def role_of(roles: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the number of each warp's role."""
    return {warp: number for number, role in enumerate(roles) for warp in role}
