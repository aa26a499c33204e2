"""Short loops are unrolled as ptxas unrolls them."""

import numpy as np
import pytest
from inside import inside

from sgemm_lab.simulator import simulate

LONGEST = 450
"""PTX instructions of all turns together, up to which a loop is unrolled."""

# Each thread adds the TURNS words of its own row of a shared array.
LOOP = """
.version 8.0
.target sm_80
.visible .entry k(.param .u64 C) {
    .reg .b32 %t, %i, %r<9>; .reg .b64 %c, %x, %y, %row, %start, %next; .reg .f32 %sum, %v;
    .reg .pred %p;
    .shared .align 16 .b8 tile[1024];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %x, %t, 32;
    mov.u64 %row, tile;
    add.s64 %start, %row, %x;
    cvt.rn.f32.u32 %v, %t;
    st.shared.v4.f32 [%start], {%v, %v, %v, %v};
    st.shared.v4.f32 [%start+16], {%v, %v, %v, %v};
    bar.sync 0;
    mov.f32 %sum, 0f00000000;
    add.s64 %next, %start, 4;
    mov.u32 %i, 0;
TURN:
    PRAGMA
    ld.shared.f32 %v, [%next+-4];
    add.f32 %sum, %sum, %v;
    add.s64 %next, %next, 4;
    add.s32 %i, %i, STEP;
    setp.COMPARE.s32 %p, %i, LIMIT;
    @%p bra TURN;
    ld.param.u64 %c, [C];
    mul.wide.u32 %y, %t, 4;
    add.s64 %c, %c, %y;
    st.global.f32 [%c], %sum;
    ret;
}"""


def text(step: int = 1, compare: str = "ne", limit: int = 8, pragma: str = "") -> str:
    filled = LOOP.replace("STEP", str(step)).replace("COMPARE", compare)
    return filled.replace("LIMIT", str(limit)).replace("PRAGMA", pragma)


def opcodes(ptx: str) -> list[str]:
    instructions = inside("unrolled", ptx, "k")["instructions"]
    assert [one["index"] for one in instructions] == list(range(len(instructions)))
    return [one["opcode"] for one in instructions]


@pytest.mark.parametrize(
    ("step", "compare", "limit", "turns"),
    [(1, "ne", 8, 8), (2, "lt", 8, 4), (2, "le", 8, 5), (-1, "gt", -3, 3)],
)
def test_a_short_loop_is_written_out(step: int, compare: str, limit: int, turns: int) -> None:
    found = opcodes(text(step, compare, limit))
    assert "bra" not in found
    assert found.count("ld.shared.f32") == turns


@pytest.mark.parametrize(
    "ptx",
    [
        text(pragma='.pragma "nounroll";'),
        text(limit=LONGEST),
        text(step=0),
        text().replace("mov.u32 %i, 0;", "mov.u32 %i, %tid.x;"),
        text().replace("setp.ne.s32 %p, %i, 8;", "setp.ne.s32 %p, %i, %t;"),
    ],
)
def test_other_loops_stay(ptx: str) -> None:
    found = opcodes(ptx)
    assert found == [one["opcode"] for one in inside("parsed", ptx, "k")["instructions"]]
    assert found.count("bra") == 1


def test_the_result_stays_and_loads_of_several_turns_merge() -> None:
    args = {"C": np.zeros(32, dtype=np.float32)}
    short = simulate(text(), "k", (1,), (32,), args)
    long = simulate(text(pragma='.pragma "nounroll";'), "k", (1,), (32,), args)
    expected = 8 * np.arange(32, dtype=np.float32)
    for result in (short, long):
        assert np.array_equal(result.arrays["C"], expected)
        assert result.counts.total.shared_load_requests_as_written == 8
    assert short.counts.total.shared_load_requests == 2
    assert long.counts.total.shared_load_requests == 8
