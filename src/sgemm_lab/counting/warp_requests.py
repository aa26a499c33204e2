"""What one warp of a kernel asks of memory, from a simulated launch: data for the painters."""

from typing import Literal, TypedDict

import numpy as np

from sgemm_lab.counting.kernel_counts import launch
from sgemm_lab.counting.shared_arrays import shared_parts, shared_shapes
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.simulator import WarpRequest

_LARGEST_PRODUCT = 256**3
"""A pattern of addresses shows at small sizes; above this M·N·K the reader would wait."""

_TIME_LIMIT = 300.0


class Request(TypedDict):
    """One memory instruction of one warp."""

    kernel: str
    line: int
    source: str  # text of that line
    array: str
    shape: list[int]  # of the array; empty where it is not known
    start: int  # byte address of the array's first element
    space: Literal["global", "shared"]
    op: Literal["load", "store"]
    bits: int  # that each lane asks for
    addresses: list[int | None]  # first byte of each lane; None where the lane is inactive


def warp_requests(
    kernel: Kernel,
    size: Size,
    *,
    line: int | str | None = None,
    space: Literal["global", "shared"] | None = None,
) -> list[Request]:
    """Simulate a launch and return the memory requests of its first warp, in order.

    A request that a loop repeats is returned once. ``line`` chooses a source line by its number or
    by a piece of its text.

    Global addresses count from the start of their array, which is aligned to 256 bytes; shared
    addresses from the start of the block's shared memory. Shared loads are those of the machine
    code, with neighbours merged as ptxas merges them.
    """
    m, n, k = size
    shape = kernel.launch_shape(m, n, k)
    if m * n * k > _LARGEST_PRODUCT:
        raise LabError(
            f"{m}×{n}×{k} is more than a pattern of addresses needs. "
            "Choose sizes whose product is at most 256·256·256."
        )
    made = launch(
        kernel_ptx(kernel),
        shape,
        np.ones((m, k), np.float32),
        np.ones((k, n), np.float32),
        shared_parts=shared_parts(kernel),
        check_hazards=False,
        requests_of=(0, 0),
        time_limit=_TIME_LIMIT,
    ).requests
    assert made is not None
    shapes = {"A": [m, k], "B": [k, n], "C": [m, n], **shared_shapes(kernel)}
    texts = kernel.source.splitlines()
    found: dict[tuple[object, ...], Request] = {}
    for request in made:
        text = texts[request.line - 1].strip() if request.line else ""
        if line not in (None, request.line) and not (isinstance(line, str) and line in text):
            continue
        if space in (None, request.space):
            key = (request.line, request.array.name, request.is_load, request.width)
            found.setdefault(key, _described(kernel, request, text, shapes))
    if not found:
        where = ", ".join(str(number) for number in sorted({request.line for request in made}))
        memory = f"{space} memory" if space else "memory"
        at = "" if line is None else f" at {line}"
        raise LabError(
            f"Warp 0 of block 0 of '{kernel.name}' makes no request to {memory}{at}. "
            f"It accesses memory at lines {where}."
        )
    return list(found.values())


def _described(
    kernel: Kernel, request: WarpRequest, text: str, shapes: dict[str, list[int]]
) -> Request:
    is_global = request.space == "global"
    return {
        "kernel": kernel.name,
        "line": request.line,
        "source": text,
        "array": request.array.name,
        "shape": shapes.get(request.array.name, []),
        "start": 0 if is_global else request.array.start,
        "space": "global" if is_global else "shared",
        "op": "load" if request.is_load else "store",
        "bits": 8 * request.width,
        "addresses": list(request.addresses),
    }
