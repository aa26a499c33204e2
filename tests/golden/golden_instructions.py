"""Launches of single instructions, request patterns and tensor cores; refused launches."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from golden_launch import Case
from simulator_kernels import LDMATRIX_16_BIT, MMA_HALF, MMA_TF32, ptx_of
from test_instructions import (
    FLOATS,
    PREDICATES,
    RARE_ATOMICS,
    SHUFFLES,
    U32,
    U64,
    A,
    B,
    C,
    X,
    Y,
    ptx_around,
)

HEAD = ".version 8.0 .target sm_90 .visible .entry k(.param .u64 C, .param .u32 n) {"
TARGET = ".version 8.0\n.target sm_90\n"
BODY = TARGET + ".visible .entry k(.param .u64 C) {{ .reg .b32 %r<9>; .reg .pred %p; {0} }}"
BROKEN = {
    "nothing": "",
    "a kernel that ends too soon": TARGET + ".visible .entry k() { ret;",
    "a parameter of no type": TARGET + ".visible .entry k(.param .what C) { ret; }",
    "an unknown number": BODY.format("add.s32 %r1, %r2, 12Q;"),
    "three destinations": BODY.format("shfl.sync.bfly.b32 %r1|%p|%r2, %r1, 16, 31, -1;"),
    "an address of a vector": BODY.format("ld.shared.u32 %r1, [{%r1}];"),
    "an empty address": BODY.format("ld.shared.u32 %r1, [];"),
    "an address with two bases": BODY.format("ld.shared.u32 %r1, [%r1+%r2];"),
    "a label that is not there": BODY.format("bra NOWHERE; ret;"),
    "an array of no known type": BODY.format(".shared .align 4 .what tile[4]; ret;"),
    "an array without a name": BODY.format(".shared .align 4; ret;"),
    "registers of no type": BODY.format(".reg %x; ret;"),
}
"""Texts that are no PTX."""


def of_instructions() -> list[Case]:
    """Each instruction of ``test_instructions``, on the numbers it has there."""
    bits = [X.view(np.uint32), Y.view(np.uint32), X.view(np.uint32)]
    lanes = [np.arange(64, dtype=np.uint32)] * 3
    tables: list[tuple[Iterable[str], list[Any], type]] = [
        (U32, [A, B, C], np.uint32),
        (U64, [A, B, C], np.uint64),
        (PREDICATES, [A, B, C], np.bool_),
        (FLOATS, bits, np.float32),
        (SHUFFLES, lanes, np.uint32),
        (
            [
                "mul.hi.s32 %d, %b, %a; cvt.u64.u32 %e, %d;",
                "mul.hi.u32 %d, %b, %c; cvt.u64.u32 %e, %d;",
                "cvt.s64.s32 %x, %a; cvt.s64.s32 %y, %b; mul.lo.s64 %e, %x, %y;",
                "mul.wide.u32 %x, %a, %b; mul.wide.s32 %y, %b, %c; sub.s64 %e, %x, %y;",
                "mul.wide.u32 %x, %a, %b; not.b64 %x, %x; neg.s64 %e, %x;",
                "mul.wide.u32 %x, %a, %b; shl.b64 %e, %x, %c;",
                "mul.wide.s32 %x, %a, %b; shr.s64 %e, %x, 7;",
                "cvt.s64.s32 %x, %a; cvt.s64.s32 %y, %b; min.s64 %e, %x, %y;",
                "cvt.s64.s32 %x, %a; or.b64 %y, %x, 1; mul.wide.u32 %x, %b, %c; "
                "div.s64 %e, %x, %y;",
                "cvt.u64.u32 %x, %a; cvt.s64.s32 %y, %b; setp.lt.s64 %p, %x, %y; "
                "selp.b64 %e, %x, %y, %p;",
                "cvt.u64.u32 %x, %a; cvt.s64.s32 %y, %b; setp.hi.u64 %p, %x, %y; "
                "selp.b64 %e, %x, %y, %p;",
            ],
            [A, B, C],
            np.uint64,
        ),
        (
            [
                "fma.rn.f32 %d, %a, %b, %c;",
                "max.f32 %d, %a, %b;",
                "cvt.s64.s32 %x, %a; cvt.rn.f32.s64 %d, %x;",
                "sqrt.rn.f32 %d, %a;",
                "rcp.rn.f32 %d, %a;",
                "cvt.rn.bf16.f32 %h, %a; cvt.u32.u16 %d, %h;",
                "cvt.rn.tf32.f32 %d, %a;",
                "cvt.rna.tf32.f32 %d, %a;",
            ],
            bits,
            np.float32,
        ),
    ]
    arrays = {name: np.zeros(96, dtype=np.uint32) for name in ("up", "down", "lock", "seen")}
    arrays["lock"][1] = 5
    cases = [Case("rare atomics", ptx_of(RARE_ATOMICS), "k", (2,), (96,), arrays)]
    for bodies, values, result in tables:
        dtype = np.dtype(result)
        out = np.zeros(len(values[0]), dtype=dtype if dtype.itemsize > 1 else np.uint32)
        args = dict(zip("ABCD", [*values, out], strict=True))
        cases += [
            Case(body, ptx_around(body, dtype), "k", (1,), (len(out),), args) for body in bodies
        ]
    return cases


def of_faults() -> list[Case]:
    """Launches that end in a sentence."""
    c = {"C": np.zeros(4, np.float32), "n": 4}
    bodies = {
        "an unknown instruction": "frobnicate.u32 %r1, %r2;",
        "an unknown register": "mov.u32 %r1, %envreg3;",
        "operands that do not go": "add.u32 %r1, 1, 2, 3; mov.u32 %p1, 1;",
        "a loop without an end": "A: bra A;",
        "mixed predicates and numbers": "add.u32 %r1, %p1, 1;",
        "an array of another module": "mov.u32 %r1, somewhere;",
        "a comparison of floats only": "setp.equ.s32 %p1, %r1, %r2;",
        "a parameter that is not there": "ld.param.u32 %r1, [nothing];",
    }
    ptx = {
        name: f"{HEAD} .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; {body} ret; }}"
        for name, body in bodies.items()
    }
    cases = [
        Case(name, text, "k", (1,), (32,), c, 0, {"max_basic_blocks": 100})
        for name, text in ptx.items()
    ]
    fine = Case("fine", f"{HEAD} ret; }}", "k", (1,), (32,), c)
    too_much = 48 * 1024 + 1
    return [
        *cases,
        *(replace(fine, name=name, ptx=text, args={}) for name, text in BROKEN.items()),
        replace(fine, name="another kernel", entry="other"),
        replace(fine, name="a missing argument", args={"C": c["C"]}),
        replace(fine, name="an array for a number", args={"C": c["C"], "n": c["C"]}),
        replace(fine, name="no threads", block=(0,)),
        replace(fine, name="four axes", grid=(1, 1, 1, 1)),
        replace(fine, name="too many threads", block=(1025,)),
        replace(fine, name="a wide grid", grid=(1, 65536)),
        replace(fine, name="hours", grid=(2**31 - 1,), block=(1024,)),
        replace(fine, name="too much shared memory", shared_bytes=300_000),
        replace(fine, name="an unknown name", options={"unwritten": ["D"]}),
        replace(cases[0], name="no time", ptx=f"{HEAD} A: bra A; }}", options={"time_limit": 0.0}),
        replace(
            fine,
            name="too much static shared memory",
            ptx=f"{HEAD} .shared .align 4 .b8 t[{too_much}]; mov.u32 %r1, t; ret; }}".replace(
                "{ .sh", "{ .reg .b32 %r<9>; .sh", 1
            ),
        ),
    ]


PATTERN = """
.version 8.0
.target sm_90
.visible .entry k(.param .u64 A, .param .u64 index) {{
.reg .b32 %t, %i, %s, %w<4>; .reg .b64 %a, %x; .reg .pred %p;
.shared .align 16 .b8 tile[8192];
mov.u32 %t, %tid.x;
ld.param.u64 %x, [index]; mul.wide.u32 %a, %t, 4; add.s64 %x, %x, %a; ld.global.s32 %i, [%x];
setp.lt.s32 %p, %i, 0;
@%p bra END;
mul.lo.s32 %i, %i, {width};
mov.u32 %s, tile; add.s32 %s, %s, %i;
ld.param.u64 %x, [A]; cvt.s64.s32 %a, %i; add.s64 %x, %x, %a;
ld.global{vector}.u32 {words}, [%x];
st.shared{vector}.u32 [%s], {words};
ld.shared{vector}.u32 {words}, [%s];
st.global{vector}.u32 [%x], {words};
END: ret;
}}"""
"""Each thread moves what its index says through shared memory, and those below 0 nothing."""


def of_patterns() -> list[Case]:
    """Requests of drawn patterns: strides, lanes that agree, noise, lanes off, illegal places."""
    random = np.random.default_rng(7)
    cases = []
    for number in range(40):
        words = int(random.choice([1, 2, 4]))
        lane = np.arange(64, dtype=np.int32)
        swapped = (lane ^ random.integers(4)) // random.choice([1, 2, 4, 8])
        index = swapped * random.integers(9) + random.integers(0, random.choice([1, 2, 40]), 64)
        index = np.where(random.random(64) < random.choice([0, 0.3]), -1, index).astype(np.int32)
        if number % 10 == 9:
            index[random.integers(64)] = 3000
        names = ", ".join(f"%w{word}" for word in range(words))
        ptx = PATTERN.format(
            width=4 * words,
            vector=f".v{words}" if words > 1 else "",
            words=f"{{{names}}}" if words > 1 else names,
        )
        args = {"A": np.arange(2048, dtype=np.uint32), "index": index}
        cases.append(Case(f"pattern {number}", ptx, "k", (1,), (64,), args))
    return cases


def of_tensor_cores() -> list[Case]:
    """Numbers near and far from each other, zeros, infinity, NaN, overflow, subnormal ones."""
    random = np.random.default_rng(11)
    odd = [np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, -1e-45, -0.0, 65504.0, 6e-8]
    cases = []
    for number in range(12):
        spread = (0, 4, 12)[number % 3]
        a, b = (
            (random.uniform(-1, 1, 128) * 2.0 ** random.integers(-spread, spread + 1, 128)).astype(
                np.float32
            )
            for _ in range(2)
        )
        if number > 5:
            a[random.integers(0, 128, 3)] = random.choice(odd, 3)
        if number % 4 == 3:  # as beyond the edge of a matrix, and NaN and infinity facing it
            a[:64], b[random.integers(0, 128, 2)] = -0.0, random.choice(odd[:3], 2)
        if number % 4 == 2:
            b[:64], a[random.integers(64, 128)] = 0, np.inf
        args = {"A": a, "B": b, "C": np.zeros(128, np.float32)}
        for name, source, target in (("tf32", MMA_TF32, "sm_80"), ("f16", MMA_HALF, "sm_75")):
            ptx = ptx_of(source, target)
            cases.append(Case(f"{name} {number}", ptx, "k", (1,), (32,), args))
        pairs = [random.integers(0, 65536, size).astype(np.uint16) for size in (256, 128)]
        args = {"A": pairs[0], "B": pairs[1], "C": np.zeros(128, np.float32)}
        for name in ("f16", "bf16"):
            ptx = ptx_of(LDMATRIX_16_BIT, "sm_80", "TYPE=unsigned short", f'NAME="{name}"')
            cases.append(Case(f"{name} of 16 k {number}", ptx, "k", (1,), (32,), args))
    return cases
