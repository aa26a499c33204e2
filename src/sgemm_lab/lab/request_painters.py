"""Requests of a warp: painters of what the book's kernels ask for, and the cost of any load."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.warp_requests import Request as KernelRequest
from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.simulator.formulas import global_sectors, shared_wavefronts
from sgemm_lab.widgets import Banks, Coalescing
from sgemm_lab.widgets.painter import OWN, VECTORS, PaintedRequest

_NARROWEST = 32
_WIDTHS = (1, 2, 4, 8, 16)


def coalescing(*names: str | Kernel, size: AnySize = 64) -> Coalescing:
    """Paint the global requests that the first warp of each kernel makes, sector by sector.

    The reader chooses among them, or makes a pattern of their own. It begins with a load of A.

    Raises:
        LabError: the size is too large to be simulated for a pattern of addresses.
    """
    kernels = [kernel_of(name) for name in names]
    requests = _labelled(
        request
        for kernel in kernels
        for request in warp_requests(kernel, size_of(size), space="global")
    )
    loads_of_a = [i for i, request in enumerate(requests) if request["array"] == "A"]
    return Coalescing(requests, chosen=next(iter(loads_of_a), None))


def banks(*names: str | Kernel, size: AnySize | None = None, request: str = "") -> Banks:
    """Paint how a warp's lanes queue at the banks: with a stride, or in the kernels' requests.

    The reader sets the stride, or chooses among the shared-memory
    requests that the first warp of each kernel makes.

    Args:
        size: M, N and K of the launch; by default one block of each kernel.
        request: what the choice calls the request to begin with, instead of the stride.

    Raises:
        LabError: a kernel has no shared memory, the size is too large, or no request is called so.
    """
    kernels = [kernel_of(name) for name in names]
    at = None if size is None else size_of(size)
    requests = _labelled(
        request
        for kernel in kernels
        for request in _different(warp_requests(kernel, at or one_block(kernel), space="shared"))
    )
    labels = [one["label"] for one in requests]
    if request and request not in labels:
        raise LabError(f"No request is called '{request}'. There are: {'; '.join(labels)}.")
    return Banks(requests, chosen=labels.index(request) if request else OWN)


@dataclass(frozen=True)
class Request:
    """What a load of a warp costs, by where its addresses lie."""

    sectors: int
    """32-byte sectors, if the addresses lie in global memory."""
    wavefronts: int
    """Wavefronts, if they lie in shared memory."""


def request(addresses: Sequence[int], width: int = 4) -> Request:
    """Return the cost of a load of a warp: ``sectors`` in global, ``wavefronts`` in shared memory.

    ``addresses`` are bytes, one for each lane, up to 32; ``width`` is the bytes of each.

    Raises:
        LabError: there are no lanes or more than 32, or no GPU loads from such addresses.
    """
    if not 1 <= len(addresses) <= WARP:
        raise LabError(f"A warp has 1 to {WARP} lanes that load. Here are {len(addresses)}.")
    if width not in _WIDTHS:
        raise LabError(f"A lane loads {', '.join(map(str, _WIDTHS))} bytes at once, not {width}.")
    if any(address < 0 or address % width for address in addresses):
        raise LabError(f"Each address must be a multiple of {width} bytes, and not below 0.")
    lanes = [*addresses, *[None] * (WARP - len(addresses))]
    waves = shared_wavefronts(lanes, width, is_load=True)
    return Request(global_sectors(lanes, width), len(waves))


def one_block(kernel: Kernel) -> Size:
    """Return M, N and K at which every lane of a kernel's first block has work."""
    tile = kernel.values
    side = max([_NARROWEST, *tile.values()])
    return side, side, max(_NARROWEST, tile.get("BK", 0))


def _labelled(requests: Iterable[KernelRequest]) -> list[PaintedRequest]:
    """Add what the choice calls each request: with its line only where two are called the same."""
    found = list(requests)
    names = [_name(request) for request in found]
    times = Counter(names)
    return [
        cast(
            PaintedRequest,
            {**request, "label": f"{name}, line {request['line']}" if times[name] > 1 else name},
        )
        for request, name in zip(found, names, strict=True)
    ]


def _different(requests: Sequence[KernelRequest]) -> list[KernelRequest]:
    """Return requests in the order of their lines, and of those alike only the first.

    Where all lanes are moved by one distance, as many wavefronts are taken, in other banks.
    """
    first: dict[tuple[object, ...], KernelRequest] = {}
    for request in sorted(requests, key=lambda request: request["line"]):
        base = min(address for address in request["addresses"] if address is not None)
        moved = tuple(None if a is None else a - base for a in request["addresses"])
        key = (request["array"], request["op"], request["bits"], moved)
        first.setdefault(key, request)
    return list(first.values())


def _name(request: KernelRequest) -> str:
    called = load_kernel(request["kernel"]).display_name
    return f"{called}: {request['op']}{VECTORS[request['bits']]} of {request['array']}"
