"""What the painters of memory requests share: their data and state, and their words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.hardware import WARP
from sgemm_lab.widgets.base import LabWidget

OWN = -1
"""``chosen`` where the reader's own pattern is shown."""
WIDTHS = {32: "float", 64: "float2", 128: "float4"}

_LARGEST_STRIDE = 2**20
_LARGEST_ADDRESS = 2**40


class PaintedRequest(TypedDict):
    """One memory instruction of one warp, as ``sgemm_lab.counting.warp_requests`` returns it."""

    kernel: str
    line: int
    source: str
    array: str
    space: Literal["global", "shared"]
    op: Literal["load", "store"]
    bits: int
    addresses: list[int | None]
    shape: NotRequired[list[int]]
    start: NotRequired[int]
    label: NotRequired[str]  # what the choice calls it; default: line, array, load or store


class Painter(LabWidget):
    """One warp's memory request, chosen among those of kernels or made by the reader.

    A subclass says which memory it paints (:attr:`SPACE`), adds state of its own, and defines
    :attr:`words`, :attr:`_name` and what every widget defines.

    Args:
        requests: requests to choose from, as ``counting.warp_requests`` returns them; a ``label``
            may be added to each.
        chosen: index of the request to begin with, or -1 for the reader's own pattern. Default:
            the first, or the own pattern where there is none.
        state: the rest of the state.

    Raises:
        LabError: the data are not what they should be; the message says where.
    """

    SPACE: ClassVar[Literal["global", "shared"]]

    requests: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(OWN).tag(sync=True)
    stride = traitlets.Int(1).tag(sync=True)
    bits = traitlets.Int(32).tag(sync=True)
    off: "traitlets.List[int]" = traitlets.List().tag(sync=True)

    def __init__(
        self, requests: Sequence[PaintedRequest] = (), *, chosen: int | None = None, **state: Any
    ) -> None:
        choices = checked_requests(list(requests), self.SPACE)
        first = 0 if choices else OWN
        start = checked_chosen(first if chosen is None else chosen, choices)
        super().__init__(requests=choices, chosen=start, **state)

    @traitlets.validate("requests")
    def _check_requests(self, proposal: Any) -> list[dict[str, Any]]:
        return checked_requests(proposal["value"], self.SPACE)

    @traitlets.validate("chosen")
    def _check_chosen(self, proposal: Any) -> int:
        return checked_chosen(proposal["value"], self.requests)

    @traitlets.validate("stride")
    def _check_stride(self, proposal: Any) -> int:
        return checked_elements("stride", proposal["value"])

    @traitlets.validate("bits")
    def _check_bits(self, proposal: Any) -> int:
        return checked_bits(proposal["value"])

    @traitlets.validate("off")
    def _check_off(self, proposal: Any) -> list[int]:
        return checked_off(proposal["value"])

    @property
    def request(self) -> dict[str, Any] | None:
        """The request chosen, or None where the reader's own pattern is shown."""
        return None if self.chosen == OWN else self.requests[self.chosen]

    @property
    def lane_bytes(self) -> int:
        """Bytes that each lane asks for."""
        return int(self.bits if self.request is None else self.request["bits"]) // 8

    @property
    def words(self) -> list[str]:
        """What the request costs, and how that compares: two sentences."""
        raise NotImplementedError

    @property
    def alt(self) -> str:
        """What the request costs, and how that compares."""
        return f"{self._name}. {' '.join(self.words)}".strip()

    @property
    def _name(self) -> str:
        raise NotImplementedError


def lanes_text(lanes: Sequence[int]) -> str:
    """Return lanes in few letters, runs of neighbours as one: "0–15", "0, 16"."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def checked_requests(requests: object, space: str) -> list[dict[str, Any]]:
    """Return requests with every optional key filled in and no other keys.

    Raises:
        LabError: a request lacks something, or is not one to ``space`` memory.
    """
    if not isinstance(requests, list | tuple):
        raise LabError(f"requests must be a list, not {type(requests).__name__}.")
    return [_checked_request(request, space) for request in requests]


def checked_chosen(chosen: int, requests: Sequence[object]) -> int:
    """Return ``chosen`` if it is the index of a request or :data:`OWN`.

    Raises:
        LabError: it is not.
    """
    if not OWN <= chosen < len(requests):
        raise LabError(
            f"There is no request {chosen}. Choose 0 to {len(requests) - 1}, or {OWN} for a "
            "pattern of your own."
            if requests
            else f"There are no requests to choose from: chosen must be {OWN}."
        )
    return chosen


def checked_bits(bits: int) -> int:
    """Return ``bits`` if a lane can ask for so many.

    Raises:
        LabError: it cannot.
    """
    if bits not in WIDTHS:
        raise LabError(f"A lane asks for 32, 64 or 128 bits, not {bits}.")
    return bits


def checked_elements(name: str, value: int) -> int:
    """Return ``value`` if it can be a stride or an offset.

    Raises:
        LabError: it cannot.
    """
    if not 0 <= value <= _LARGEST_STRIDE:
        raise LabError(f"{name} must be 0 to {_LARGEST_STRIDE:,} elements, not {value}.")
    return value


def checked_off(off: Iterable[Any]) -> list[int]:
    """Return the lanes switched off, in order and each once.

    Raises:
        LabError: one is no lane.
    """
    lanes = list(off)
    for lane in lanes:
        if not isinstance(lane, int) or not 0 <= lane < WARP:
            raise LabError(f"A warp has lanes 0 to 31, so {lane!r} cannot be off.")
    return sorted(set(lanes))


def _checked_request(request: Any, space: str) -> dict[str, Any]:
    if not isinstance(request, Mapping):
        raise LabError(f"requests must hold dictionaries, but one is {request!r}.")
    needed = PaintedRequest.__required_keys__
    missing = sorted(needed - set(request))
    if missing:
        raise LabError(f"A request needs '{missing[0]}'. Take requests from warp_requests().")
    who = f"The request of line {request['line']}"
    if request["space"] != space:
        raise LabError(f"{who} goes to {request['space']} memory; this painter shows {space}.")
    if request["op"] not in ("load", "store"):
        raise LabError(f"{who} has op {request['op']!r}: write 'load' or 'store'.")
    bits = checked_bits(request["bits"])
    addresses = list(request["addresses"])
    if len(addresses) != WARP:
        raise LabError(f"{who} has {len(addresses)} addresses; a warp has {WARP} lanes.")
    for address in addresses:
        if address is not None and not (
            isinstance(address, int)
            and 0 <= address < _LARGEST_ADDRESS
            and address % (bits // 8) == 0
        ):
            raise LabError(f"{who} has address {address!r}: no multiple of its {bits // 8} bytes.")
    kind = {32: "", 64: " float2", 128: " float4"}[bits]
    default = (
        f"{request['kernel']}, line {request['line']}: {request['op']}{kind} of {request['array']}"
    )
    return {
        **{key: request[key] for key in sorted(needed)},
        "addresses": addresses,
        "shape": [int(side) for side in request.get("shape", [])],
        "start": int(request.get("start", 0)),
        "label": str(request.get("label") or default),
    }
