"""The check by simulation in JavaScript says what the one in Python says, size by size."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from in_node import answers

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import QUICK_SIZES, CheckResult
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.kernel import Kernel, Size, parse_kernel

WRONG = sorted((Path(__file__).parents[1] / "wrong_kernels").glob("*.cu"))
SIZES: list[Size] = [(3, 5, 7), (33, 31, 17)]
RIGHT = ("naive_rows", "tiled:TILE=16", "float4", "register_cache", "async_copy")
BARRIER = "        __syncthreads();  // no one overwrites a tile before all have read it\n"
MODULES = {"checking": "checking/simulated.ts", "kernels": "kernel.ts"}
CHECKED = """(name, source, ptx, sizes) => [
  ...checking.checkHere(kernels.parseKernel(name, source), ptx, sizes),
].map(({ hazards: _, ...result }) => result)"""
FIRST_WRONG = """(name, source, ptx, sizes) => {
  for (const found of checking.checkHere(kernels.parseKernel(name, source), ptx, sizes)) {
    const { hazards: _, ...result } = found;
    if (result.fault) return result;
  }
}"""


def asked(kernel: Kernel, sizes: Sequence[Size]) -> tuple[str, str, str, Sequence[Size]]:
    return kernel.name, kernel.source, kernel_ptx(kernel), sizes


def in_json(result: CheckResult) -> dict[str, Any]:
    """Return a verdict as JavaScript gives it; an error may differ by its float64 sums."""
    endless = result.error == float("inf")
    error = "Infinity" if endless else pytest.approx(result.error, rel=1e-5)
    return {**asdict(result), "error": error}


def checked_alike(kernels: list[Kernel], sizes: Sequence[Size]) -> list[list[dict[str, Any]]]:
    """Check kernels in both languages; return the verdicts, held equal."""
    said = answers(MODULES, CHECKED, [asked(one, sizes) for one in kernels])
    wanted = [[in_json(result) for result in check_simulated(one, sizes)] for one in kernels]
    assert [one["gives"] for one in said] == wanted
    return wanted


def test_wrong_kernels_are_rejected_in_the_same_words() -> None:
    kernels = [parse_kernel(path.stem, path.read_text(encoding="utf-8")) for path in WRONG]
    said = answers(MODULES, FIRST_WRONG, [asked(one, QUICK_SIZES) for one in kernels])
    for kernel, one in zip(kernels, said, strict=True):
        wrong = one["gives"]
        size = (wrong["m"], wrong["n"], wrong["k"])
        assert [wrong] == [in_json(result) for result in check_simulated(kernel, [size])]


def test_right_kernels_are_right_in_both() -> None:
    # One whose blocks share a workspace takes ten times as long as the others: it has one size.
    for names, sizes in ((RIGHT, SIZES), (["split_k:BLOCKS=1"], SIZES[1:])):
        for results in checked_alike([load_kernel(name) for name in names], sizes):
            assert not any(result["fault"] or result["refusal"] for result in results)


def test_a_kernel_without_its_barrier_is_rejected_in_the_same_words() -> None:
    source = load_kernel("tiled").source
    kernel = parse_kernel("mine", source.replace(BARRIER, ""))
    (results,) = checked_alike([kernel], QUICK_SIZES)
    assert any("with no barrier between" in (result["fault"] or "") for result in results)


def test_a_race_comes_with_the_barrier_that_some_warps_miss() -> None:
    some = BARRIER.replace("__sync", "if (threadIdx.y < 8) __sync")
    kernel = parse_kernel("mine", load_kernel("tiled").source.replace(BARRIER, some))
    ((result,),) = checked_alike([kernel], [(33, 31, 33)])
    assert "with no barrier between" in result["fault"]
    assert "Move it out of the condition" in result["fault"]


def test_what_cannot_run_is_refused_in_the_same_words() -> None:
    source = load_kernel("naive").source
    endless = source.replace("++k", "k += 0")
    huge = source.replace("ceil(N / BN)", "10000000 * N")
    kernels = [parse_kernel("mine", text) for text in (endless, huge)]
    results = checked_alike(kernels, [(2, 2, 2), (2000, 2000, 2000)])
    assert "does not come to an end" in results[0][0]["fault"]
    assert results[0][1]["refusal"]
    assert results[1][0]["refusal"]
