"""Requests like those that the book's kernels make, and those whose cost an H200 counted."""

import json
from pathlib import Path
from typing import Any

from sgemm_lab.widgets.painter import PaintedRequest

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "warp_requests_h200.json").read_text()
)["requests"]


def request(array: str, addresses: list[int | None], **more: Any) -> PaintedRequest:
    """A load of 32 bits from global memory, unless ``more`` says otherwise."""
    return {
        "kernel": "naive_rows",
        "line": 22,
        "source": "acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];",
        "array": array,
        "shape": [64, 64],
        "start": 0,
        "space": "global",
        "op": "load",
        "bits": 32,
        "addresses": addresses,
        "label": f"{more.get('kernel', 'naive_rows')}, line {more.get('line', 22)}: {array}",
        **more,  # type: ignore[typeddict-item]
    }


COLUMN = request("A", [256 * lane for lane in range(32)])
SAME = request("B", [0] * 32)
ROW = request("B", [4 * lane for lane in range(32)], kernel="naive")
HALF = request("A", [16 * lane if lane < 8 else None for lane in range(32)], bits=128, line=30)
GLOBAL = [COLUMN, SAME, ROW, HALF]


def shared_request(array: str, addresses: list[int | None], **more: Any) -> PaintedRequest:
    """A request of a kernel with 128×128×8 tiles."""
    more = {"kernel": "float4_tile", "space": "shared", "shape": [8, 128], **more}
    return request(array, addresses, **more)


# Each lane stores its k of a column of A; two lanes share a row of A.
STORE_AS = shared_request(
    "As",
    [lane % 2 * 2048 + lane // 2 * 4 for lane in range(32)],
    op="store",
    line=60,
    source="As[kA + 0][rA] = a.x;",
)
STORE_PADDED = shared_request(
    "As",
    [lane % 2 * 2112 + lane // 2 * 4 for lane in range(32)],
    op="store",
    line=62,
    kernel="split",
    shape=[8, 132],
)
LOAD_AS = shared_request("As", [lane // 16 * 32 for lane in range(32)], bits=128, line=70)
LOAD_BS = shared_request(
    "Bs",
    [4096 + lane % 16 * 32 for lane in range(32)],
    bits=128,
    line=71,
    start=4096,
    source="for (int j = 0; j < TN; ++j) fragB[j] = Bs[k][tx * TN + j];",
)
SHARED = [STORE_AS, STORE_PADDED, LOAD_AS, LOAD_BS]


def addresses_of(recorded: dict[str, Any]) -> list[int | None]:
    """The lanes' byte addresses of a recorded request."""
    return [None if i < 0 else i * recorded["bits"] // 8 for i in recorded["index"]]
