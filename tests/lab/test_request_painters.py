"""The painters of memory requests, as the chapters show them."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.lab.request_painters import one_block
from sgemm_lab.widgets import Banks

LARGE = "register_cache:BM=128,BN=128,TM=8,TN=8"


@pytest.fixture(scope="module")
def painted() -> Banks:
    return lab.banks(LARGE, "transposed", "float4_tile", "split")


def wavefronts(painter: Banks) -> dict[str, int]:
    found = {}
    for index, request in enumerate(painter.requests):
        painter.chosen = index
        found[request["label"]] = len(painter.wavefronts)
    return found


def test_the_bank_painter_tells_the_story_of_chapter_6(painted):
    assert wavefronts(painted) == {
        "register_cache 8 × 8: store of As": 1, "register_cache 8 × 8: store of Bs": 1,
        "register_cache 8 × 8: load of As": 2, "register_cache 8 × 8: load float4 of Bs": 8,
        "transposed: store of As": 8, "transposed: store of Bs": 1,
        "transposed: load float4 of As": 2, "transposed: load float4 of Bs": 8,
        "float4_tile: store of As": 2, "float4_tile: store float4 of Bs": 4,
        "float4_tile: load float4 of As": 2, "float4_tile: load float4 of Bs": 8,
        "split: store of As": 1, "split: store float4 of Bs": 4, "split: load float4 of As": 2,
        "split: load float4 of Bs": 4,
    }  # fmt: skip


@pytest.mark.parametrize("kernel", load_kernels(), ids=lambda kernel: kernel.name)
@pytest.mark.sampled(every=9)
def test_every_kernel_with_shared_memory_can_be_painted(kernel):
    if "__shared__" not in kernel.source or "TensorMap" in kernel.source:
        with pytest.raises(LabError, match="makes no request to shared memory"):
            lab.banks(kernel.name)
        return
    requests = lab.banks(kernel.name).requests
    operations = {request["op"] for request in requests}
    # Of kernels that copy past the registers a block may store or read nothing else there.
    assert operations == {"load", "store"} or ("cp.async" in kernel.source and operations)
    assert len({request["label"] for request in requests}) == len(requests)


def test_one_block_is_as_large_as_the_largest_tile():
    assert one_block(load_kernel("split")) == (128, 128, 32)
    assert one_block(load_kernel("sliding_window")) == (64, 64, 64)
    assert one_block(load_kernel("tiled:TILE=16")) == (32, 32, 32)
