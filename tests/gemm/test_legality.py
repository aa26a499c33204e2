"""A kernel's assertions, evaluated without the compiler: same results and messages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.compiler import CompileError, compile_kernel
from sgemm_lab.gemm.dispatch.legality import refusal
from sgemm_lab.kernel import parse_kernel

COLUMN_ORDER = load_kernel("column_order")


@pytest.mark.parametrize("kernel", load_kernels(variants=True), ids=lambda kernel: kernel.name)
def test_every_kernel_of_the_book_satisfies_its_assertions(kernel: object) -> None:
    assert refusal(kernel) is None  # type: ignore[arg-type]


def test_a_failed_assertion_returns_its_message() -> None:
    assert refusal(COLUMN_ORDER.with_constants(TM=16)) is not None
    assert refusal(load_kernel("tiled:TILE=33")) == (
        "A block has at most 1024 threads: TILE can be at most 32."
    )


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([32, 64, 128]), st.sampled_from([64, 128]),
    st.sampled_from([4, 8, 16]), st.sampled_from([2, 4, 8, 16]),
)  # fmt: skip
def test_the_compiler_agrees(bm: int, bn: int, bk: int, tn: int) -> None:
    kernel = load_kernel("thread_tile").with_constants(BM=bm, BN=bn, BK=bk, TN=tn)
    said = refusal(kernel)
    if said is None:
        assert compile_kernel(kernel).registers > 0
    else:
        with pytest.raises(CompileError) as error:
            compile_kernel(kernel)
        assert said in str(error.value)


HEAD = "// title: T\n// parent: none\n// chapter: 1\n// grid: 1, 1\n// block: 1, 1\n"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("A % 3 == 2 && !(A < 8)", True),
        ("A / 3 == 2 || B != 16", True),
        ("(A & (A - 1)) == 0", True),
        ("A + B * 2 <= 39", False),
        ("A >= B", False),
        ("A > 7 && A <= 8 && B / 0 == 1", True),  # left to the compiler
        ("sizeof(float) == 3", True),
        ("unknown == 3", True),
    ],
)
def test_conditions_have_the_semantics_of_c(condition: str, holds: bool) -> None:
    kernel = parse_kernel(
        "k",
        HEAD + "constexpr int A = 8;  // a\nconstexpr int B = A * 2;\n"
        f'static_assert({condition}, "No.");\n',
    )
    assert refusal(kernel) == (None if holds else "No.")
