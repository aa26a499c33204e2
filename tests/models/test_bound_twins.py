"""Bounds in JavaScript equal Python's wherever a block is a tile of C."""

from dataclasses import asdict

import pytest
from in_node import answers
from ladder_samples import WITHOUT_A_DEMAND

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.gpu import find_gpu
from sgemm_lab.models.bound import bound
from sgemm_lab.models.demand import block_demand

SIZES = [(4096, 4096, 4096), (512, 512, 512), (1000, 999, 98), (1, 4096, 4096)]
MODULES = {"kernels": "kernel.ts", "bounds": "models/bound.ts"}
FUNCTION = """(name, source, { per_k: perK, ...block }, sizes, gpu) => sizes.map((size) =>
  bounds.bound(kernels.parseKernel(name, source), { perK, ...block }, size, gpu))"""


def test_bounds_agree() -> None:
    gpu = find_gpu("h200")
    kernels = [one for one in load_kernels() if one.name not in WITHOUT_A_DEMAND]
    cases = [(k.name, k.source, asdict(block_demand(k)), SIZES, asdict(gpu)) for k in kernels]
    for kernel, answer in zip(kernels, answers(MODULES, FUNCTION, cases), strict=True):
        for size, caps in zip(SIZES, answer["gives"], strict=True):
            wanted = {cap.unit: cap for cap in bound(kernel, size, gpu).caps}
            assert {cap["unit"] for cap in caps} == {*wanted}
            for cap in caps:
                other = wanted[cap["unit"]]
                assert cap["gflops"] == pytest.approx(other.gflops, rel=1e-12), (kernel.name, size)
                assert cap["demand"] == pytest.approx(other.demand, rel=1e-12), (kernel.name, size)
                assert cap["label"] == other.label
