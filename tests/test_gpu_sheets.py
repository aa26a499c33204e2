"""GPUs by name, and the roofs that follow from their data sheets."""

import re
from dataclasses import replace

import pytest

from sgemm_lab.cuda.compiler import TARGETS
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import LIMITS
from sgemm_lab.gpu import GPUS, Gpu, find_gpu
from sgemm_lab.models.roofline import sheet_of
from sgemm_lab.records.gpu_record import Record
from sgemm_lab.records.store import load_records


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("h200", "h200"),
        ("H200", "h200"),
        ("A100 40 GB", "a100"),
        # What drivers call the devices.
        ("Tesla T4", "t4"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA A100-SXM4-40GB", "a100"),
        ("NVIDIA A100-PCIE-40GB", "a100"),
        ("NVIDIA GeForce RTX 3090", "rtx3090"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
    ],
)
def test_a_gpu_is_found_by_id_name_and_device_name(name: str, id_: str) -> None:
    assert find_gpu(name).id == id_


@pytest.mark.parametrize(
    "name",
    ["NVIDIA L4S", "NVIDIA GH200 480GB", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA T400",
     "NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", ""],
)  # fmt: skip
def test_another_model_with_a_similar_name_gets_no_data_sheet(name: str) -> None:
    with pytest.raises(LabError, match=f"no data sheet of a GPU called '{re.escape(name)}'"):
        find_gpu(name)


def test_the_most_similar_name_is_suggested() -> None:
    with pytest.raises(LabError, match=r"Did you mean 'RTX 4090'\?"):
        find_gpu("RTX 4080")
    with pytest.raises(LabError, match="It has T4, A100 40 GB"):
        find_gpu("xyz")


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.id)
def test_kernels_are_compiled_for_every_gpu_of_the_book(gpu: Gpu) -> None:
    assert "sm_" + gpu.compute_capability.replace(".", "") in TARGETS
    assert gpu.compute_capability in LIMITS
    assert find_gpu(gpu.name) is gpu


@pytest.mark.parametrize("record", load_records(), ids=lambda record: record.gpu.name)
def test_memory_is_as_fast_as_a_device_of_the_model_says(record: Record) -> None:
    told = 2 * record.gpu.memory_clock_mhz * record.gpu.memory_bus_bits / 8 / 1e3
    sheet = sheet_of(record)
    assert sheet is None or sheet.dram_gbs == pytest.approx(told, rel=0.1)


def test_an_unknown_compute_capability_is_an_error() -> None:
    orin = replace(find_gpu("t4"), compute_capability="8.7")
    with pytest.raises(LabError, match=r"compute capability 8\.7, only .* Add it to LIMITS in"):
        _ = orin.shared_per_block
