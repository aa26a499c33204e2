"""Kernels as they were found somewhere, in the verbs of a notebook."""

from pathlib import Path

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab.check_and_count import ExternalCounted
from sgemm_lab.lab.sanitizer import CHECK, TOOLS
from sgemm_lab.records.sanitizer import SANITIZER_RUNS

FOUND = """
#include <cstdio>
__global__ void matmul(const float* a, const float* b, float* c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
int main() { cudaDeviceSynchronize(); printf("done"); }
"""
LAUNCH = {"grid": "ceil(N/8), ceil(M/8)", "block": "8, 8"}


def test_pasted_text_is_counted_line_by_line() -> None:
    done = lab.count(lab.mine(FOUND, "found.cu", **LAUNCH), size=24)
    text = repr(done)
    assert "sum += a[row * n + k] * b[k * n + col];" in text
    assert "C is right: all 576 elements of 24³ equal the exact product." in text
    assert "Left out, as the kernel does not need it: main." in text
    assert done._repr_html_().count("<tbody>") == 3
    assert isinstance(done, ExternalCounted)


def test_pasted_text_is_checked() -> None:
    assert "right. " in repr(lab.check(lab.mine(FOUND, **LAUNCH)))
    wrong = FOUND.replace("row >= n || col >= n", "row >= n")
    said = repr(lab.check(lab.mine(wrong, **LAUNCH)))
    assert "wrong. error: At " in said
    assert "Of these sizes it is right exactly where 8 divides M, N and K." in said


def test_any_kernel_is_judged_by_what_is_expected() -> None:
    text = "__global__ void half_of(float* x) { x[threadIdx.x] *= 0.5f; }"
    kernel = lab.mine(text, grid="1", block="32", args="x:inout:32")
    assert "x is right: all 32 elements" in repr(lab.count(kernel, expect="x = x / 2"))
    assert "x is WRONG: " in repr(lab.count(kernel, expect="x = x / 3"))


def test_a_pasted_kernel_stands_alone() -> None:
    kernel = lab.mine(FOUND, **LAUNCH)
    with pytest.raises(LabError, match="stands alone"):
        lab.count(kernel, "naive")
    with pytest.raises(LabError, match="stands alone"):
        lab.check("naive", kernel)
    with pytest.raises(LabError, match="Or say how its kernel is launched"):
        lab.mine(FOUND)


def test_the_tools_are_compared_on_bugs_of_the_tests() -> None:
    [run] = SANITIZER_RUNS.load_all()
    folder = Path(__file__).parents[1]
    texts = [path.read_text("utf-8") for path in (folder / "foreign_kernels").glob("*.cu")]
    for kernel in run.kernels:
        assert any(kernel.old in text for text in texts)
        assert [one.tool for one in kernel.tools] == [*TOOLS, CHECK]
    page = lab.sanitizer()._repr_html_()
    total = sum(one.ran(CHECK).found for one in run.kernels)
    assert f'<td>all</td><td class="number unbroken">{len(run.kernels)}</td>' in page
    assert f"{total}</td></tr>" in page


def test_bugs_in_public_samples_are_shown_with_their_lines() -> None:
    shown = lab.public_bugs()
    page, text = shown._repr_html_(), repr(shown)
    assert page.count("<tr>") == 1 + len(shown.known.bugs)
    for bug in shown.known.bugs:
        assert page.count(f'href="{bug.address}"') == text.count(bug.address) == 1
        assert bug.command in text
    # The advice that follows a finding is left to the command.
    assert "Guard the access" not in page
