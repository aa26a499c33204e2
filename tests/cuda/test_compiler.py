"""NVRTC, without a GPU: what every kernel costs on every target, and errors in plain words."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.compiler import TARGETS, CompileError, compile_kernel, compile_source, suits
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, parse_kernel

TILED = load_kernel("tiled")


def on_its_targets(kernel: Kernel, number: int) -> Iterator[Any]:
    """Yield the kernel with each target; of every fourth kernel one, in turn, is tried."""
    suited = [target for target in TARGETS if suits(kernel, target)]
    for place, target in enumerate(suited):
        tried = number % 4 == 0 and place == number // 4 % len(suited)
        marks = [] if tried else [pytest.mark.whole]
        yield pytest.param(kernel, target, id=f"{kernel.name}-{target}", marks=marks)


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        case
        for number, kernel in enumerate(load_kernels(variants=True))
        for case in on_its_targets(kernel, number)
    ],
)
def test_every_kernel_compiles_for_every_target_without_spills(kernel: Kernel, target: str) -> None:
    compiled = compile_kernel(kernel, target)
    assert compiled.spill_bytes == 0
    assert 0 < compiled.registers <= 255
    assert compiled.registers * kernel.launch_shape(64, 64, 64).threads <= 65536
    assert re.search(rf"^\.target {target}a?$", compiled.ptx, re.M)
    assert compiled.cubin.startswith(b"\x7fELF")


def test_the_registers_that_decide_over_chapter_5s_k_tiles() -> None:
    def taken(name: str) -> int:
        kernel = load_kernel(name)
        return compile_kernel(kernel).registers * kernel.launch_shape(64, 64, 64).threads

    assert taken("thread_tile_1d:BK=64") > 65536
    assert (65536 // taken("thread_tile"), 65536 // taken("thread_tile:BK=32")) == (4, 1)


def test_static_shared_memory_is_what_the_tiles_take() -> None:
    assert compile_kernel(TILED).shared_bytes == 2 * 4 * 32 * 32
    assert compile_kernel(load_kernel("tiled:TILE=16")).shared_bytes == 2 * 4 * 16 * 16
    assert compile_kernel(load_kernel("naive")).shared_bytes == 0


def test_spills_are_seen() -> None:
    source = """
    extern "C" __global__ void __launch_bounds__(1024, 2) sgemm(float* C)
    {
        float sums[128];
        for (int i = 0; i < 128; ++i) sums[i] = C[i];
        for (int k = 0; k < 9; ++k)
            for (int i = 0; i < 128; ++i) sums[i] = sums[i] * sums[(i + 1) % 128] + C[k];
        for (int i = 0; i < 128; ++i) C[i] = sums[i];
    }"""
    assert compile_source(source, "spilling.cu", "sm_90").spill_bytes > 0


def refusal(source: str, file_name: str = "mine.cu", target: str = "sm_90") -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_source(source, file_name, target)
    return caught.value


def line_of(text: str, source: str = TILED.source) -> int:
    return next(i for i, line in enumerate(source.splitlines(), 1) if text in line)


@pytest.mark.parametrize("file_name", ["mine.cu", "my own (2).cu"])
def test_an_error_has_the_readers_own_line_number(file_name: str) -> None:
    source = TILED.source.replace("acc += As[ty][k]", "acc += Az[ty][k]")
    error = refusal(source, file_name)
    line = line_of("acc += As")
    assert error.lines == (line,)
    assert str(error) == (
        f'{file_name} does not compile for sm_90.\nLine {line}: identifier "Az" is undefined'
    )


def test_a_static_assertion_speaks_for_itself() -> None:
    with pytest.raises(CompileError) as caught:
        compile_kernel(TILED.with_constants(TILE=64))
    line = line_of("static_assert")
    assert caught.value.lines == (line,)
    assert str(caught.value).endswith(
        f"\nLine {line}: A block has at most 1024 threads: TILE can be at most 32."
    )


@pytest.mark.parametrize(
    ("old", "new", "lines", "sentence"),
    [
        ("// title", '#include "nowhere.h"\n// title', (1,), "Line 1: "),
        (
            "As[TILE][TILE]",
            "As[16 * TILE][TILE]",
            (),
            "Its tiles take 69,632 bytes of shared memory; a block can declare 49,152. "
            "Choose smaller tile constants.",
        ),
        (
            "float acc = 0.0f;",
            'float acc = 0; asm("bogus;");',
            (),
            "Not a name of any known instruction: 'bogus'",
        ),
    ],
)
def test_a_source_that_is_refused_has_a_sentence(
    old: str, new: str, lines: tuple[int, ...], sentence: str
) -> None:
    error = refusal(TILED.source.replace(old, new, 1))
    assert error.lines == lines
    assert sentence in str(error)
    assert "ptxas info" not in str(error)


@pytest.mark.parametrize(
    "source",
    ["", TILED.source.replace('extern "C" ', ""), TILED.source.replace("void sgemm", "void gemm")],
    ids=["empty", "mangled", "renamed"],
)
def test_a_source_without_the_entry_is_a_sentence(source: str) -> None:
    with pytest.raises(LabError, match="has no kernel called 'sgemm'") as caught:
        compile_source(source, "mine.cu", "sm_90")
    assert 'extern "C" __global__ void sgemm(…)' in str(caught.value)


def test_a_target_that_nvrtc_does_not_know_is_a_sentence() -> None:
    error = refusal(TILED.source, target="sm_999")
    assert str(error).endswith("This version of NVRTC does not know sm_999.")


def test_a_kernel_that_needs_a_newer_gpu_is_refused() -> None:
    head, body = TILED.source.split("//\n", 1)
    newer = parse_kernel(TILED.name, f"{head}// needs: sm_80\n//\n{body}")
    with pytest.raises(LabError, match=r"has from sm_80 on\. It cannot be built for sm_75"):
        compile_kernel(newer, "sm_75")
    assert compile_kernel(newer, "sm_80").target == "sm_80"


def test_a_kernel_for_one_target_alone_is_built_for_it_and_no_other() -> None:
    producers = load_kernel("producers")
    assert [target for target in TARGETS if suits(producers, target)] == ["sm_90"]
    assert compile_kernel(producers, "sm_90").target == "sm_90a"
    for target in ("sm_80", "sm_100"):
        with pytest.raises(LabError, match=rf"a GPU has of sm_90 only\. It cannot .+ {target}"):
            compile_kernel(producers, target)
