"""A kernel's ``#include "device.cuh"`` becomes the shared functions that it uses."""

from pathlib import Path

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel, load_kernel_file, load_kernels
from sgemm_lab.files import CHECKOUT
from sgemm_lab.shared_code import INCLUDE, inlined_lines, with_shared_code

SHARED = """// Says what the file is, and that second() is not used here.

using Word = unsigned;

// The first.
__device__ Word first(int x)
{
    return x;
}

template <int LEFT>
__device__ void second() { asm("first;"); }

__device__ int third(int x) { return first(x); }
"""
INCLUDING = [kernel for kernel in load_kernels() if inlined_lines(kernel.source)]


def inlined(body: str) -> str:
    """Return the lines that take the place of the include of a kernel with this body."""
    source = with_shared_code(f"int a;\n{INCLUDE}\n{body}\n", SHARED)
    lines, numbers = source.splitlines(), inlined_lines(source)
    assert [lines[0], lines[numbers.stop - 1]] == ["int a;", body]
    return "\n".join(lines[numbers.start : numbers.stop - 2])


def test_what_is_used_is_inlined_with_what_that_uses_in_the_order_of_the_file() -> None:
    first = "// The first.\n__device__ Word first(int x)\n{\n    return x;\n}"
    third = "__device__ int third(int x) { return first(x); }"
    assert inlined("third(1);") == f"using Word = unsigned;\n\n{first}\n\n{third}"
    assert inlined("second<1>();").startswith("template <int LEFT>")


@pytest.mark.parametrize("body", ['asm("first;");', "// first", "firstly();"])
def test_names_in_comments_and_texts_and_parts_of_names_are_no_use(body: str) -> None:
    assert inlined(body) == ""


def test_what_a_kernel_defines_itself_is_not_inlined() -> None:
    assert inlined("__device__ int first(int x) { return third(x); }") == SHARED.splitlines()[-1]


def test_a_source_without_the_include_stays_as_it_is() -> None:
    source = load_kernel("tiled").source
    assert with_shared_code(source, SHARED) == source
    assert inlined_lines(source) == range(0)


def test_every_shared_function_is_used() -> None:
    text = (CHECKOUT / "kernels" / "device.cuh").read_text(encoding="utf-8")
    used = [kernel.source for kernel in INCLUDING]
    for definition in text.split("\n\n")[1:]:
        assert any(definition.strip() in source for source in used), definition


def test_a_readers_copy_of_a_file_is_the_books_kernel(tmp_path: Path) -> None:
    kernel = INCLUDING[0]
    text = next((CHECKOUT / "kernels").glob(f"*_{kernel.name}.cu")).read_text(encoding="utf-8")
    assert INCLUDE in text
    copy = tmp_path / f"{kernel.name}.cu"
    copy.write_text(text, encoding="utf-8")
    assert load_kernel_file(copy) == kernel


def test_a_listing_shows_the_include_unless_it_is_asked_for_what_was_inlined() -> None:
    whole = lab.show(INCLUDING[0].name).text
    assert INCLUDE in whole
    assert "cp.async" not in whole
    part = lab.show("async_copy", "// Start to copy one float", "waitForCopies()").text
    assert "cp.async" in part
    assert INCLUDE not in part
