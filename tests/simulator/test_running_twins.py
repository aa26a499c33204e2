"""The simulator in JavaScript: the same results, counts, hazards and traces as in Python."""

import base64
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from exact_reference import chain_of_fma
from simulator_kernels import (
    GEMMS,
    LDMATRIX_16_BIT,
    MMA_HALF,
    MMA_TF32,
    gemm_inputs,
    ptx_of,
)
from test_instructions import FLOATS, PREDICATES, SHUFFLES, U32, U64, A, B, C, X, Y, ptx_around
from twins import Case, in_javascript, same

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.checking.judge import rounding_shares
from sgemm_lab.counting.kernel_counts import book_arguments
from sgemm_lab.counting.launch_limits import patience
from sgemm_lab.counting.shared_arrays import shared_parts
from sgemm_lab.cuda.shipped_ptx import shipped_text
from sgemm_lab.kernel import Kernel, Size

AWKWARD = (37, 22, 13)
SMS = 6
HEAD = ".version 8.0 .target sm_90 .visible .entry k(.param .u64 C, .param .u32 n) {"


def of_kernel(kernel: Kernel, ptx: str, size: Size, **options: Any) -> Case:
    # Kernels that have blocks for all SMs share out as much over few, with less to simulate.
    shape, drawn = kernel.launch_shape(*size, sms=SMS), gemm_inputs(*size)
    return Case(
        f"{kernel.name} at {size} {options}",
        ptx,
        "sgemm",
        shape.grid,
        shape.block,
        book_arguments(shape, drawn["A"], drawn["B"]),
        shape.shared_bytes,
        {
            "together": shape.workspace_bytes > 0,
            "unwritten": ["C"],
            "shared_parts": list(shared_parts(kernel)),
            "patience": patience(size),
            **options,
        },
    )


def of_book(names: Iterable[str], size: Size, **options: Any) -> list[Case]:
    kernels = [load_kernel(name) for name in names]
    return [of_kernel(one, shipped_text(one), size, **options) for one in kernels]


def of_instructions() -> list[Case]:
    """Each instruction of ``test_instructions``, on the numbers it has there."""
    bits = [X.view(np.uint32), Y.view(np.uint32), X.view(np.uint32)]
    lanes = [np.arange(64, dtype=np.uint32)] * 3
    tables: list[tuple[Iterable[str], list[Any], type]] = [
        (U32, [A, B, C], np.uint32),
        (U64, [A, B, C], np.uint64),
        (PREDICATES, [A, B, C], np.bool_),
        (FLOATS, bits, np.uint32),
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
                "mul.f32 %d, %a, %b;",
                "fma.rn.f32 %d, %a, %b, %c;",
                "max.f32 %d, %a, %b;",
                "cvt.s64.s32 %x, %a; cvt.rn.f32.s64 %d, %x;",
                "sqrt.rn.f32 %d, %a;",
                "rcp.rn.f32 %d, %a;",
                "cvt.rn.bf16.f32 %h, %a; cvt.u32.u16 %d, %h;",
            ],
            bits,
            np.uint32,
        ),
    ]
    cases = []
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
        "a cluster": "barrier.cluster.arrive;",
        "a warp group": "wgmma.fence.sync.aligned;",
        "an array of another module": "mov.u32 %r1, somewhere;",
        "a comparison of floats only": "setp.equ.s32 %p1, %r1, %r2;",
        "a parameter that is not there": "ld.param.u32 %r1, [nothing];",
    }
    ptx = {
        name: f"{HEAD} .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; {body} ret; }}"
        for name, body in bodies.items()
    }
    cases = [
        Case(name, text, "k", (1,), (32,), c, 0, {"patience": 100}) for name, text in ptx.items()
    ]
    fine = Case("fine", f"{HEAD} ret; }}", "k", (1,), (32,), c)
    too_much = 48 * 1024 + 1
    return [
        *cases,
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
    for number in range(60):
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


def of_samples() -> list[Case]:
    """The tests' own kernels, for a target that has other addresses of shared memory too."""
    cases = []
    for name, (source, (rows, columns), block, oldest) in GEMMS.items():
        for target in {oldest, "sm_90"}:
            m, n, k = 13, 11, 9
            grid = (-(-n // columns), -(-m // rows))
            shared = 2 * 8 * k * 4 if name == "strip" else 0
            cases.append(
                Case(
                    f"{name} for {target}",
                    ptx_of(source, target),
                    name,
                    grid,
                    block,
                    gemm_inputs(m, n, k),
                    shared,
                    {"unwritten": ["C"]},
                )
            )
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


PARTED = ("tiled", "split", "producers")
TOYS = ("tiled:TILE=2", "sliding_window:TILE=2,BK=8", "float4:TILE=4,BK=4")
TRACED = {"trace": True, "products": True, "requests_of": (0, 0)}
GROUPS: dict[str, Callable[[], list[Case]]] = {
    "warp after warp": lambda: of_book(PARTED, (9, 7, 5), schedule="warps"),
    "thread after thread": lambda: of_book(TOYS, (9, 7, 5), schedule="threads"),
    "traces": lambda: of_book(("naive", "tiled", "float4", "stages"), (7, 9, 10), **TRACED),
    "instructions": of_instructions,
    "tensor cores": of_tensor_cores,
    "patterns of requests": of_patterns,
    "faults": of_faults,
    "kernels of the tests": of_samples,
}


IN_PARTS = {
    "stream_k", "per_warp_stages", "split_k", "one_row",
    "one_column",
}  # fmt: skip
"""Kernels that add up parts of K, and not all of it in one chain."""


def refused(kernel: Kernel) -> str | None:
    """Return what the simulator says of a kernel that it does not run."""
    if "barrier.cluster" in kernel.source:
        return "The blocks of a cluster read each other's shared memory"
    return "Four warps multiply together at" if "wgmma" in kernel.source else None


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.sampled(every=2)
def test_kernels_of_the_book_are_right_and_both_languages_agree(part: int) -> None:
    kernels = load_kernels()[part::2]
    cases = of_book((one.name for one in kernels), AWKWARD)
    for kernel, case, theirs in zip(kernels, cases, in_javascript(cases), strict=True):
        mine = case.in_python()
        assert not same(mine, theirs), kernel.name
        assert_as_meant(kernel, case, mine)


@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.sampled(every=2)
def test_the_other_half_is_right_in_python(first: int) -> None:
    kernels = load_kernels()[first::4]
    for kernel, case in zip(kernels, of_book((one.name for one in kernels), AWKWARD), strict=True):
        assert_as_meant(kernel, case, case.in_python())


def assert_as_meant(kernel: Kernel, case: Case, said: dict[str, Any]) -> None:
    """Hold a kernel to its product, without hazards; one that cannot run here to its refusal."""
    if why := refused(kernel):
        assert why in said["message"]
    else:
        assert said["hazards"] == [], kernel.name
        assert_right(kernel, case.args["A"], case.args["B"], said["arrays"]["C"])


def assert_right(kernel: Kernel, a: Any, b: Any, text: str) -> None:
    """Hold C, as text, to the chain of fused multiply-adds; where there is none, to a bound."""
    c = np.frombuffer(base64.b64decode(text), np.float32).reshape(len(a), -1)
    chain = chain_of_fma(a, b)
    if kernel.arithmetic != "fp32":
        assert rounding_shares(a, b, c, kernel.arithmetic).max() <= 1, kernel.name
    elif kernel.name in IN_PARTS:
        assert np.abs(c - chain).max() < 1e-5, kernel.name
    else:
        assert np.array_equal(c.view(np.uint32), chain.view(np.uint32)), kernel.name


@pytest.mark.parametrize("group", GROUPS)
def test_twins_agree(group: str) -> None:
    cases = GROUPS[group]()
    answers = in_javascript(cases)
    found = {
        case.name: differences
        for case, answer in zip(cases, answers, strict=True)
        if (differences := same(case.in_python(), answer))
    }
    assert found == {}
