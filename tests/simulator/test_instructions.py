"""Single PTX instructions against plain Python."""

import math
import struct
from collections.abc import Callable

import numpy as np
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.simulator import PtxError, simulate

EDGES = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF]
EDGES += [0x80000000, 0x80000001, 0xFFFFFFFF, 0xDEADBEEF, 0x12345678, 0xF0F0F0F0]
A, B, C = (
    np.array([EDGES[(lane * step + start) % len(EDGES)] for lane in range(128)], dtype=np.uint32)
    for step, start in ((1, 0), (5, 3), (7, 11))
)


def ptx_around(body: str, result: np.dtype) -> str:
    """A kernel of instructions on %a, %b, %c (32-bit) that stores %d, %e (64-bit) or %p."""
    store = {1: "selp.b32 %d, 1, 0, %p; st.global.u32 [%q], %d;", 8: "st.global.u64 [%q], %e;"}
    return f"""
    .version 8.0
    .target sm_80
    .visible .entry k(.param .u64 A, .param .u64 B, .param .u64 C, .param .u64 D) {{
    .reg .b32 %t, %a, %b, %c, %d; .reg .b64 %x, %y, %q, %e; .reg .pred %p; .reg .b16 %h;
    mov.u32 %t, %tid.x;
    mul.wide.u32 %x, %t, 4;
    ld.param.u64 %y, [A]; add.s64 %y, %y, %x; ld.global.u32 %a, [%y];
    ld.param.u64 %y, [B]; add.s64 %y, %y, %x; ld.global.u32 %b, [%y];
    ld.param.u64 %y, [C]; add.s64 %y, %y, %x; ld.global.u32 %c, [%y];
    ld.param.u64 %q, [D]; mul.wide.u32 %x, %t, {max(result.itemsize, 4)}; add.s64 %q, %q, %x;
    {body}
    {store.get(result.itemsize, "st.global.u32 [%q], %d;")}
    ret;
    }}"""


def run_ptx(body: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, result: np.dtype) -> np.ndarray:
    """Run instructions; what they leave in %d, %e or %p."""
    out = np.zeros(len(a), dtype=result if result.itemsize > 1 else np.uint32)
    args = {"A": a, "B": b, "C": c, "D": out}
    return simulate(ptx_around(body, result), "k", (1,), (len(a),), args).arrays["D"]


def signed(value: int, width: int = 32) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def cut(value: int, low: int, count: int) -> int:
    return value >> low & (1 << count) - 1


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def permuted(a: int, b: int, selector: int) -> int:
    both = a | b << 32
    result = 0
    for place in range(4):
        choice = cut(selector, 4 * place, 4)
        byte = cut(both, 8 * (choice & 7), 8)
        if choice & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * place
    return result


def signed_field(a: int, start: int, count: int) -> int:
    start, count = start & 255, count & 255
    if count == 0:
        return 0
    top = min(start + count - 1, 31)
    field = cut(a, min(start, 31), max(0, top - min(start, 31) + 1)) if start <= 31 else 0
    if cut(a, top, 1):
        field |= -1 << (top - start + 1) if start <= top else -1
    return field


def field(a: int, start: int, count: int) -> int:
    start, count = start & 255, count & 255
    return cut(a, start, min(count, 32)) if start < 32 else 0


def ones(start: int, count: int) -> int:
    return 0 if start >= 32 else ((1 << min(count, 32)) - 1) << start


def dot(a: int, b: int, c: int, wide: int, skipped: int) -> int:
    """c plus products of signed parts of a by unsigned bytes of b."""
    parts = [signed(a >> at, wide) for at in range(0, 32, wide)]
    factors = [cut(b, 8 * (at + skipped), 8) for at in range(len(parts))]
    return c + sum(one * other for one, other in zip(parts, factors, strict=True))


def inserted(value: int, base: int, start: int, count: int) -> int:
    mask = ((1 << min(count, 32)) - 1) << min(start, 32)
    return base & ~mask | (value << min(start, 32)) & mask


Model = Callable[[int, int, int], int]
U32: dict[str, Model] = {
    "add.s32 %d, %a, %b;": lambda a, b, c: a + b,
    "sub.s32 %d, %a, %b;": lambda a, b, c: a - b,
    "mul.lo.s32 %d, %a, %b;": lambda a, b, c: a * b,
    "mul.hi.u32 %d, %a, %b;": lambda a, b, c: a * b >> 32,
    "mul.hi.s32 %d, %a, %b;": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.lo.s32 %c, %a, %b, %c; mov.u32 %d, %c;": lambda a, b, c: a * b + c,
    "or.b32 %b, %b, 1; div.s32 %d, %a, %b;": lambda a, b, c: truncated(signed(a), signed(b | 1)),
    "or.b32 %b, %b, 1; div.u32 %d, %a, %b;": lambda a, b, c: a // (b | 1),
    "or.b32 %b, %b, 1; rem.s32 %d, %a, %b;": lambda a, b, c: (
        signed(a) - truncated(signed(a), signed(b | 1)) * signed(b | 1)
    ),
    "or.b32 %b, %b, 1; rem.u32 %d, %a, %b;": lambda a, b, c: a % (b | 1),
    "min.s32 %d, %a, %b;": lambda a, b, c: min(signed(a), signed(b)),
    "max.u32 %d, %a, %b;": lambda a, b, c: max(a, b),
    "and.b32 %d, %a, %b;": lambda a, b, c: a & b,
    "xor.b32 %d, %a, -2;": lambda a, b, c: a ^ 0xFFFFFFFE,
    "not.b32 %d, %a;": lambda a, b, c: ~a,
    "neg.s32 %d, %a;": lambda a, b, c: -a,
    "abs.s32 %d, %a;": lambda a, b, c: abs(signed(a)),
    "shl.b32 %d, %a, %b;": lambda a, b, c: a << min(b, 32),
    "shl.b32 %d, %a, 5;": lambda a, b, c: a << 5,
    "shr.u32 %d, %a, %b;": lambda a, b, c: a >> min(b, 32),
    "shr.s32 %d, %a, %b;": lambda a, b, c: signed(a) >> min(b, 32),
    "shr.s32 %d, %a, 31;": lambda a, b, c: signed(a) >> 31,
    "popc.b32 %d, %a;": lambda a, b, c: a.bit_count(),
    "clz.b32 %d, %a;": lambda a, b, c: 32 - a.bit_length(),
    "bfe.u32 %d, %a, %b, %c;": field,
    "bfe.s32 %d, %a, 4, 8;": lambda a, b, c: signed_field(a, 4, 8),
    "bfe.s32 %d, %a, 28, 8;": lambda a, b, c: signed_field(a, 28, 8),
    "bfi.b32 %d, %a, %b, 8, 12;": lambda a, b, c: inserted(a, b, 8, 12),
    "bmsk.clamp.b32 %d, %a, %b;": lambda a, b, c: ones(a, b),
    "bmsk.wrap.b32 %d, %a, %b;": lambda a, b, c: ones(a & 31, b & 31),
    "dp4a.s32.u32 %d, %a, %b, %c;": lambda a, b, c: dot(a, b, c, 8, 0),
    "dp2a.lo.s32.u32 %d, %a, %b, %c;": lambda a, b, c: dot(a, b, c, 16, 0),
    "dp2a.hi.s32.u32 %d, %a, %b, %c;": lambda a, b, c: dot(a, b, c, 16, 2),
    "prmt.b32 %d, %a, %b, %c;": permuted,
    "prmt.b32 %d, %a, %b, 0x3340;": lambda a, b, c: permuted(a, b, 0x3340),
    "shf.l.wrap.b32 %d, %a, %b, %c;": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.r.wrap.b32 %d, %a, %b, %c;": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "shf.r.clamp.b32 %d, %a, %b, %c;": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "lop3.b32 %d, %a, %b, %c, 0x96;": lambda a, b, c: a ^ b ^ c,
    "lop3.b32 %d, %a, %b, %c, 0xCA;": lambda a, b, c: a & b | ~a & c,
    "cvt.u16.u32 %h, %a; cvt.u32.u16 %d, %h;": lambda a, b, c: a & 0xFFFF,
    "cvt.u16.u32 %h, %a; cvt.s32.s16 %d, %h;": lambda a, b, c: signed(a, 16),
    "cvt.u16.u32 %h, %a; cvt.s32.s8 %d, %h;": lambda a, b, c: signed(a, 8),
    "cvt.s64.s32 %e, %a; shr.u64 %e, %e, 8; cvt.u32.u64 %d, %e;": lambda a, b, c: signed(a) >> 8,
    "mov.b64 %e, {%a, %b}; mov.b64 {%c, %d}, %e;": lambda a, b, c: b,
    "setp.lt.s32 %p, %a, %b; selp.b32 %d, %a, %c, %p;": lambda a, b, c: (
        a if signed(a) < signed(b) else c
    ),
    "setp.lt.u32 %p, %a, %b; @%p mov.u32 %d, 5; @!%p mov.u32 %d, 6;": lambda a, b, c: (
        5 if a < b else 6
    ),
}


@pytest.mark.parametrize("body", U32)
def test_32_bit_integers(body: str) -> None:
    expected = [U32[body](*map(int, row)) & 0xFFFFFFFF for row in zip(A, B, C, strict=True)]
    assert run_ptx(body, A, B, C, np.dtype(np.uint32)).tolist() == expected


SIGNED = "cvt.s64.s32 %x, %a; cvt.s64.s32 %y, %b;"
AT_A = "mul.wide.u32 %x, %t, 4; ld.param.u64 %y, [A]; add.s64 %y, %y, %x;"
U64: dict[str, Model] = {
    f"{AT_A} ld.global.s32 %e, [%y];": lambda a, b, c: signed(a),
    f"{AT_A} mov.b64 %e, -1; ld.global.u32 %e, [%y];": lambda a, b, c: a,
    "mul.wide.s32 %e, %a, %b;": lambda a, b, c: signed(a) * signed(b),
    "mul.wide.u32 %e, %a, %b;": lambda a, b, c: a * b,
    "cvt.s64.s32 %e, %c; mad.wide.s32 %e, %a, 4, %e;": lambda a, b, c: signed(a) * 4 + signed(c),
    "cvt.u64.u32 %e, %a; shl.b64 %e, %e, 33;": lambda a, b, c: a << 33,
    "cvt.s64.s32 %e, %a; neg.s64 %e, %e;": lambda a, b, c: -signed(a),
    "mov.b64 %e, {%a, %b};": lambda a, b, c: b << 32 | a,
    "mul.wide.u32 %x, %a, %b; mul.wide.s32 %y, %b, %c; sub.s64 %e, %x, %y;": lambda a, b, c: (
        a * b - signed(b) * signed(c)
    ),
    "mul.wide.u32 %x, %a, %b; not.b64 %e, %x;": lambda a, b, c: ~(a * b),
    "mul.wide.u32 %x, %a, %b; shl.b64 %e, %x, %c;": lambda a, b, c: a * b << min(c, 64),
    "mul.wide.s32 %x, %a, %b; shr.s64 %e, %x, 7;": lambda a, b, c: signed(a) * signed(b) >> 7,
    f"{SIGNED} mul.lo.s64 %e, %x, %y;": lambda a, b, c: signed(a) * signed(b),
    f"{SIGNED} min.s64 %e, %x, %y;": lambda a, b, c: min(signed(a), signed(b)),
    f"{SIGNED} or.b64 %y, %x, 1; mul.wide.u32 %x, %b, %c; div.s64 %e, %x, %y;": lambda a, b, c: (
        truncated(signed(b * c, 64), signed(a) | 1)
    ),
    f"{SIGNED} setp.lt.s64 %p, %x, %y; selp.b64 %e, %x, %y, %p;": lambda a, b, c: min(
        signed(a), signed(b)
    ),
    f"{SIGNED} setp.hi.u64 %p, %x, %y; selp.b64 %e, %x, %y, %p;": lambda a, b, c: max(
        signed(a), signed(b), key=lambda value: value % 2**64
    ),
}


@pytest.mark.parametrize("body", U64)
def test_64_bit_integers(body: str) -> None:
    expected = [U64[body](*map(int, row)) & (1 << 64) - 1 for row in zip(A, B, C, strict=True)]
    assert run_ptx(body, A, B, C, np.dtype(np.uint64)).tolist() == expected


PREDICATES: dict[str, Model] = {
    "setp.ge.u32 %p, %a, %b;": lambda a, b, c: a >= b,
    "setp.eq.s32 %p, %a, %b;": lambda a, b, c: a == b,
    "setp.hi.u32 %p, %a, %b;": lambda a, b, c: a > b,
    "setp.ne.b32 %p, %a, 0; setp.gt.and.s32 %p, %a, %b, %p;": lambda a, b, c: (
        a != 0 and signed(a) > signed(b)
    ),
    "setp.ne.b32 %p, %a, 0; setp.gt.or.s32 %p, %a, %b, !%p;": lambda a, b, c: (
        a == 0 or signed(a) > signed(b)
    ),
    "setp.le.s32 %p, %a, %b; not.pred %p, %p;": lambda a, b, c: signed(a) > signed(b),
}


@pytest.mark.parametrize("body", PREDICATES)
def test_predicates(body: str) -> None:
    expected = [int(PREDICATES[body](*map(int, row))) for row in zip(A, B, C, strict=True)]
    assert run_ptx(body, A, B, C, np.dtype(bool)).tolist() == expected


NUMBERS = [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, 1e-45, 1e38, -3e38, 2.0**31, 1e10, -0.3]
NUMBERS += [math.inf, -math.inf, math.nan, 65504.0, 1.00048828125, 1.0009765625, 0.1, 1 / 3]
X, Y = (
    np.array([NUMBERS[(lane * step) % len(NUMBERS)] for lane in range(96)], dtype=np.float32)
    for step in (1, 7)
)


def half_bits(value: float) -> int:
    if math.isnan(value):
        return 0x7FFF  # the one NaN that an H200 gives
    return struct.unpack("<H", np.float16(value).tobytes())[0]


def tf32_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32)) + 0x1000 & 0xFFFFE000


def clamped(value: float, low: int, high: int, rounding: Callable[[float], int]) -> int:
    if math.isnan(value):
        return 0
    return low if value <= low else high if value >= high else rounding(value)


def f32(value: np.floating) -> int:
    return int(np.float32(value).view(np.uint32))


def ordered_min(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else min(x, y)


FLOATS: dict[str, Callable[[float, float], int]] = {
    "add.f32 %d, %a, %b;": lambda x, y: f32(np.float32(x) + np.float32(y)),
    "sub.rn.f32 %d, %a, %b;": lambda x, y: f32(np.float32(x) - np.float32(y)),
    "mul.f32 %d, %a, %b;": lambda x, y: f32(np.float32(x) * np.float32(y)),
    "div.rn.f32 %d, %a, %b;": lambda x, y: f32(np.float32(x) / np.float32(y)),
    "min.f32 %d, %a, %b;": lambda x, y: f32(np.float32(ordered_min(x, y))),
    "neg.f32 %d, %a;": lambda x, y: f32(np.float32(x)) ^ 0x80000000,
    "abs.f32 %d, %a;": lambda x, y: f32(np.float32(x)) & 0x7FFFFFFF,
    "setp.lt.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(x < y),
    "setp.ne.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(
        x != y and not math.isnan(x) and not math.isnan(y)
    ),
    "setp.neu.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(x != y),
    "setp.geu.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(not x < y),
    "setp.num.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(
        not math.isnan(x) and not math.isnan(y)
    ),
    "setp.nan.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;": lambda x, y: int(
        math.isnan(x) or math.isnan(y)
    ),
    "cvt.rzi.s32.f32 %d, %a;": lambda x, y: clamped(x, -(2**31), 2**31 - 1, math.trunc),
    "cvt.rni.u32.f32 %d, %a;": lambda x, y: clamped(x, 0, 2**32 - 1, round),
    "cvt.rn.f16.f32 %h, %a; cvt.u32.u16 %d, %h;": lambda x, y: half_bits(x),
    "cvt.rn.f16x2.f32 %d, %a, %b;": lambda x, y: half_bits(x) << 16 | half_bits(y),
    "cvt.rn.f16.f32 %h, %a; cvt.f32.f16 %d, %h;": lambda x, y: f32(
        np.float32(np.uint16(half_bits(x)).view(np.float16))
    ),
}


@pytest.mark.parametrize("body", FLOATS)
def test_floats(body: str) -> None:
    bits = [X.view(np.uint32), Y.view(np.uint32)]
    found = run_ptx(body, *bits, bits[0], np.dtype(np.uint32))
    with np.errstate(all="ignore"):
        expected = [
            FLOATS[body](float(x), float(y)) & 0xFFFFFFFF for x, y in zip(X, Y, strict=True)
        ]
    if "f32 %d" in body and "setp" not in body and "x2" not in body:
        # NaN has many bit patterns: any will do.
        nan = np.isnan(np.array(expected, dtype=np.uint32).view(np.float32))
        assert np.isnan(found.view(np.float32)[nan]).all()
        assert found[~nan].tolist() == np.array(expected, dtype=np.uint32)[~nan].tolist()
    else:
        assert found.tolist() == expected


def test_rounding_to_tf32_and_bfloat16() -> None:
    finite = X[np.isfinite(X) & (np.abs(X) < 1e38)]
    bits = finite.view(np.uint32)
    found = run_ptx("cvt.rna.tf32.f32 %d, %a;", bits, bits, bits, np.dtype(np.uint32))
    assert found.tolist() == [tf32_bits(float(x)) for x in finite]
    halfway = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11], dtype=np.float32)
    ties = [
        run_ptx(f"cvt.{how}.tf32.f32 %d, %a;", *[halfway.view(np.uint32)] * 3, np.dtype(np.uint32))
        for how in ("rn", "rna")
    ]
    assert [one.view(np.float32).tolist() for one in ties] == [
        [1.0, 1 + 2.0**-9, -1.0],
        [1 + 2.0**-10, 1 + 2.0**-9, -1 - 2.0**-10],
    ]
    body = "cvt.rn.bf16.f32 %h, %a; cvt.u32.u16 %d, %h; shl.b32 %d, %d, 16;"
    back = run_ptx(body, bits, bits, bits, np.dtype(np.uint32)).view(np.float32)
    assert (np.abs(back - finite) <= np.abs(finite) * 2.0**-8 + 1e-44).all()
    halfway = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8], dtype=np.float32)
    back = run_ptx(body, *[halfway.view(np.uint32)] * 3, np.dtype(np.uint32)).view(np.float32)
    assert back.tolist() == [1.0, 1 + 2.0**-6]


SHUFFLES: dict[str, Callable[[int], int]] = {
    "shfl.sync.bfly.b32 %d, %a, 5, 31, -1;": lambda lane: lane ^ 5,
    "shfl.sync.up.b32 %d, %a, 3, 0, -1;": lambda lane: lane - 3 if lane >= 3 else lane,
    "shfl.sync.down.b32 %d, %a, 3, 31, -1;": lambda lane: lane + 3 if lane < 29 else lane,
    "shfl.sync.idx.b32 %d, %a, 9, 31, -1;": lambda lane: 9,
    # Segments of 8 lanes: the control word is (32 - 8) << 8 | 31.
    "shfl.sync.idx.b32 %d, %a, 2, 6175, -1;": lambda lane: lane // 8 * 8 + 2,
    "shfl.sync.down.b32 %d|%p, %a, 4, 6175, -1;": lambda lane: lane + 4 if lane % 8 < 4 else lane,
}


@pytest.mark.parametrize("body", SHUFFLES)
def test_shuffles(body: str) -> None:
    a = np.arange(64, dtype=np.uint32) + 100
    found = run_ptx(body, a, a, a, np.dtype(np.uint32))
    expected = [100 + t // 32 * 32 + SHUFFLES[body](t % 32) for t in range(64)]
    assert found.tolist() == expected


def test_votes_and_masks() -> None:
    a = np.arange(64, dtype=np.uint32)
    ballot = "setp.lt.u32 %p, %a, 40; vote.sync.ballot.b32 %d, %p, -1;"
    found = run_ptx(ballot, a, a, a, np.dtype(np.uint32))
    assert found.tolist() == [0xFFFFFFFF] * 32 + [0xFF] * 32
    every = "setp.lt.u32 %p, %a, 40; vote.sync.all.pred %p, %p, -1;"
    assert run_ptx(every, a, a, a, np.dtype(bool)).tolist() == [1] * 32 + [0] * 32
    some = "setp.eq.u32 %p, %a, 40; vote.sync.any.pred %p, %p, -1;"
    assert run_ptx(some, a, a, a, np.dtype(bool)).tolist() == [0] * 32 + [1] * 32
    inside = "setp.lt.u32 %p, %a, 5; mov.u32 %d, 0; @%p activemask.b32 %d;"
    assert run_ptx(inside, a, a, a, np.dtype(np.uint32)).tolist() == [31] * 5 + [0] * 59


def test_local_arrays_and_generic_addresses() -> None:
    source = """
    __device__ __noinline__ int dummy;
    extern "C" __global__ void k(int* C, int n) {
        __shared__ int tile[64];
        int mine[8];
        for (int i = 0; i < 8; ++i) mine[i] = threadIdx.x * i;
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        int* from = threadIdx.x % 3 == 0 ? tile : threadIdx.x % 3 == 1 ? mine : C;
        C[64 + threadIdx.x] = from[(threadIdx.x + n) % 8];
    }""".replace("__device__ __noinline__ int dummy;", "")
    args = {"C": np.arange(1000, 1128, dtype=np.int32), "n": 3}
    result = simulate(ptx_of(source), "k", (1,), (64,), args, check_hazards=False)
    expected = [
        (at if t % 3 == 0 else t * at if t % 3 == 1 else 1000 + at)
        for t in range(64)
        for at in [(t + 3) % 8]
    ]
    assert result.arrays["C"][64:].tolist() == expected


def test_atomics() -> None:
    source = """
    extern "C" __global__ void k(float* sum, int* tickets) {
        atomicAdd(sum, 0.5f);
        tickets[1 + threadIdx.x] = atomicAdd(tickets, 1);
    }"""
    args = {"sum": np.zeros(1, dtype=np.float32), "tickets": np.zeros(65, dtype=np.int32)}
    result = simulate(ptx_of(source), "k", (2,), (32,), args)
    assert result.arrays["sum"].tolist() == [32.0]
    assert result.arrays["tickets"][0] == 64
    assert result.counts.total.atomic_requests == 4
    assert result.counts.total.atomic_sectors == 4


RARE_ATOMICS = """
extern "C" __global__ void k(unsigned* up, unsigned* down, unsigned* lock, unsigned* seen) {
    __shared__ unsigned best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    seen[threadIdx.x] = atomicInc(up, 20);
    atomicDec(down, 6);
    unsigned mine = threadIdx.x * 7 % 32, old = best;
    while (old < mine) {
        unsigned now = atomicCAS(&best, old, mine);
        if (now == old) break;
        old = now;
    }
    __syncthreads();
    if (threadIdx.x == 0) lock[0] = best;
    if (atomicCAS(lock + 1, 5, threadIdx.x + 100) == 5) lock[2] = threadIdx.x;
}"""


def test_rare_atomics() -> None:
    arrays = {name: np.zeros(32, dtype=np.uint32) for name in ("up", "down", "lock", "seen")}
    arrays["lock"][1] = 5
    found = simulate(ptx_of(RARE_ATOMICS), "k", (1,), (32,), arrays).arrays
    assert found["seen"].tolist() == [*range(21), *range(11)]
    assert (found["up"][0], found["down"][0]) == (11, 3)
    assert found["lock"][:2].tolist() == [31, 100 + found["lock"][2]]


def test_an_opcode_out_of_reach_is_named() -> None:
    source = """extern "C" __global__ void k(float* C) {
        asm("pmevent 3;");
    }"""
    with pytest.raises(PtxError, match=r"'pmevent' at test\.cu, line 2"):
        simulate(ptx_of(source), "k", (1,), (32,), {"C": np.zeros(32, dtype=np.float32)})
