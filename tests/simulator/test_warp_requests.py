"""One warp's requests, drawn from a simulated launch."""

from dataclasses import replace

import numpy as np
import pytest
from request_samples import RECORDED

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.shared_arrays import shared_shapes
from sgemm_lab.counting.warp_requests import warp_requests
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.simulator import simulate


def test_a_request_is_described() -> None:
    kernel = load_kernel("naive_rows:BM=32,BN=8")
    found = warp_requests(kernel, (64, 64, 48), line="acc +=")
    by_array = {request["array"]: request for request in found}
    assert set(by_array) == {"A", "B"}
    a = by_array["A"]
    assert a["addresses"] == [4 * 48 * lane for lane in range(32)]
    assert kernel.source.splitlines()[a["line"] - 1].strip() == a["source"]
    assert (a["kernel"], a["op"], a["bits"], a["space"]) == (kernel.name, "load", 32, "global")
    assert a["shape"] == [64, 48]
    assert warp_requests(kernel, (64, 64, 48), line=a["line"]) == found
    (store,) = warp_requests(kernel, (64, 64, 48), line="C[size_t(row)")
    assert store["op"] == "store"
    assert store["addresses"][:2] == [0, 4 * 64]


def test_a_request_that_a_loop_repeats_is_there_once() -> None:
    once = warp_requests(load_kernel("tiled"), (32, 32, 64), space="shared")
    assert [r["op"] for r in once] == ["store", "store", "load", "load"]


def test_shapes_of_shared_arrays() -> None:
    assert shared_shapes(load_kernel("split")) == {"As": [8, 132], "Bs": [8, 128]}
    assert shared_shapes(load_kernel("double_buffer"))["As"] == [2, 8, 132]
    assert shared_shapes(load_kernel("tiled:TILE=16"))["Bs"] == [16, 16]
    assert shared_shapes(load_kernel("strip")) == {}  # the launch decides
    bs = warp_requests(load_kernel("split"), (128, 128, 8), line="&Bs[kB][cB]")[0]
    assert (bs["start"], bs["addresses"][0]) == (4 * 8 * 132, 4 * 8 * 132)


def edited(text: str, new: str) -> Kernel:
    kernel = load_kernel("tiled")
    return replace(kernel, source=kernel.source.replace(text, new))


@pytest.mark.parametrize("side", ["sizeof(A)", "2 ** 9", "1 / 0", "(", "TILE // 2"])
def test_a_shape_that_cannot_be_read_is_said(side: str) -> None:
    with pytest.raises(
        LabError, match=r"The shape of 'As\[TILE\]\[.*\]' in 'tiled' cannot be read"
    ):
        shared_shapes(edited("As[TILE][TILE];", f"As[TILE][{side}];"))


def test_what_is_not_there_is_said() -> None:
    tiled = load_kernel("tiled:TILE=16")
    with pytest.raises(
        LabError, match=r"no request to memory at 1. It accesses memory at lines [0-9, ]+"
    ):
        warp_requests(tiled, (16, 16, 16), line=1)
    with pytest.raises(LabError, match="512×512×512 is more than a pattern of addresses needs"):
        warp_requests(tiled, (512, 512, 512))


REQUEST = """
.version 8.0
.target sm_90
.visible .entry k(.param .u64 A, .param .u64 index) {{
.reg .b32 %t, %i, %s, %w<4>; .reg .b64 %a, %x; .reg .pred %p;
.shared .align 128 .b8 tile[16384];
.loc 1 2 0
mov.u32 %t, %tid.x;
mov.u32 %w0, 0; mov.u32 %w1, 0; mov.u32 %w2, 0; mov.u32 %w3, 0;
ld.param.u64 %x, [index]; mul.wide.u32 %a, %t, 4; add.s64 %x, %x, %a;
ld.global.s32 %i, [%x];
setp.lt.s32 %p, %i, 0;
@%p bra END;
mul.lo.s32 %i, %i, {width};
mov.u32 %s, tile; add.s32 %s, %s, %i;
ld.param.u64 %x, [A]; cvt.s64.s32 %a, %i; add.s64 %x, %x, %a;
.loc 1 3 0
{access}
END: ret;
}}
.file 1 "request.cu"
"""
"""One request of one warp, alone at line 3: an index below 0 is a lane that is off."""


def test_requests_cost_what_an_h200_counted() -> None:
    assert len(RECORDED) == 276
    for one in RECORDED:
        words = one["bits"] // 32
        names = ", ".join(f"%w{word}" for word in range(words))
        vector, register = (f".v{words}", f"{{{names}}}") if words > 1 else ("", names)
        space, direction = one["access"].split()
        place = "[%s]" if space == "shared" else "[%x]"
        operands = f"{register}, {place}" if direction == "load" else f"{place}, {register}"
        access = f"{'ld' if direction == 'load' else 'st'}.{space}{vector}.u32 {operands};"
        ptx = REQUEST.format(width=4 * words, access=access)
        args = {"A": np.zeros(4096, np.uint32), "index": np.array(one["index"], np.int32)}
        lines = simulate(ptx, "k", (1,), (32,), args, check_hazards=False).counts.lines
        counts = next(counts for where, counts in lines.items() if where.line == 3)
        units = {"shared": ("wavefronts", "bank_conflicts"), "global": ("sectors", "requests")}
        for unit in units[space]:
            assert getattr(counts, f"{space}_{direction}_{unit}") == one[unit], one
