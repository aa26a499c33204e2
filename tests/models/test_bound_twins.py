"""Demands and bounds in JavaScript equal Python's wherever a block is a tile of C."""

from dataclasses import asdict
from typing import Any

import pytest
from in_node import answers
from ladder_samples import WITHOUT_A_DEMAND

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.shipped_ptx import shipped_text
from sgemm_lab.errors import LabError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.models.bound import bound
from sgemm_lab.models.demand import block_demand

SIZES = [(4096, 4096, 4096), (512, 512, 512), (1000, 999, 98), (1, 4096, 4096)]
MODULES = {"kernels": "kernel.ts", "demands": "models/demand.ts", "bounds": "models/bound.ts"}
FUNCTION = """(name, source, ptx, sizes, gpu) => {
  const kernel = kernels.parseKernel(name, source);
  const block = demands.simulatedDemand(kernel, ptx);
  return { block, caps: sizes.map((size) => bounds.bound(kernel, block, size, gpu)) };
}"""


@pytest.mark.parametrize("part", range(3))
@pytest.mark.sampled(every=3)
def test_demands_and_bounds_agree(part: int) -> None:
    gpu = find_gpu("h200")
    names = [one.name for one in load_kernels() if one.name not in WITHOUT_A_DEMAND][part::3]
    cases = []
    for name in names:
        kernel = load_kernel(name)
        ptx = shipped_text(kernel)
        cases.append([name, kernel.source, ptx, SIZES, asdict(gpu)])
    for name, answer in zip(names, answers(MODULES, FUNCTION, cases), strict=True):
        found = answer["gives"]
        assert found["block"] == javascript_names(asdict(block_demand(load_kernel(name)))), name
        for size, caps in zip(SIZES, found["caps"], strict=True):
            wanted = bound(load_kernel(name), size, gpu).caps
            assert {cap["unit"] for cap in caps} == {cap.unit for cap in wanted}
            for cap, other in zip(caps, wanted, strict=True):
                assert cap["gflops"] == pytest.approx(other.gflops, rel=1e-12), (name, size)
                assert cap["demand"] == pytest.approx(other.demand, rel=1e-12), (name, size)
                named = [one.label for one in wanted if one.unit == cap["unit"]]
                assert named == [cap["label"]]


@pytest.mark.parametrize("name", ["one_column", "wgmma_tf32"])
def test_unknown_demand_has_the_same_message(name: str) -> None:
    kernel = load_kernel(name)
    ptx = shipped_text(kernel)
    case = [kernel.name, kernel.source, ptx, SIZES, asdict(find_gpu("h200"))]
    with pytest.raises(LabError) as why:
        block_demand(kernel)
    assert answers(MODULES, FUNCTION, [case])[0]["says"] == str(why.value)


def javascript_names(block: dict[str, Any]) -> dict[str, Any]:
    return {"perK" if name == "per_k" else name: value for name, value in block.items()}
