"""GPUs by name, and the roofs that follow from their data sheets."""

import re
from dataclasses import fields, replace

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


def test_roofs_of_the_h100_are_its_data_sheets() -> None:
    h100 = find_gpu("h100")
    assert h100.peak_gflops == pytest.approx(66_900, rel=0.005)  # data sheet: 67 TFLOP/s
    assert h100.shared_gbs == pytest.approx(132 * 128 * 1.98)
    assert h100.ridge == pytest.approx(h100.peak_gflops / 3350)


@pytest.mark.parametrize(
    ("id_", "tflops"), [("t4", 8.1), ("a100", 19.5), ("rtx3090", 35.6), ("rtx4090", 82.6),
                        ("l4", 30.3), ("rtx5090", 104.8)],
)  # fmt: skip
def test_peaks_are_the_published_ones(id_: str, tflops: float) -> None:
    assert find_gpu(id_).peak_gflops == pytest.approx(tflops * 1e3, rel=0.01)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.id)
def test_kernels_are_compiled_for_every_gpu_of_the_book(gpu: Gpu) -> None:
    assert "sm_" + gpu.compute_capability.replace(".", "") in TARGETS
    assert gpu.compute_capability in LIMITS
    assert find_gpu(gpu.name) is gpu


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.id)
def test_every_number_of_a_data_sheet_has_its_source(gpu: Gpu) -> None:
    numbers = {field.name for field in fields(gpu) if field.type in (int, float, "int", "float")}
    assert set(gpu.sources) == numbers
    assert all(len(source) > 10 for source in gpu.sources.values())


def wrong_with(gpu: Gpu) -> str:
    """What no GPU of these years has, or "".

    A line of HBM moves 1.4 Gbit/s (HBM2) to 12 (HBM4), and every stack has 1,024 lines or more. A
    line of GDDR or LPDDR moves 5 Gbit/s (GDDR5) to 36 (GDDR7), and no board has more than 512.
    """
    slowest, fastest = (1.4, 12) if gpu.memory_bus_bits >= 1024 else (5, 36)
    ranges = {
        "Gbit/s of a memory line": (gpu.dram_gbs * 8 / gpu.memory_bus_bits, slowest, fastest),
        "memory lines": (gpu.memory_bus_bits, 64, 16384),
        "MHz": (gpu.clock_mhz, 500, 3500),
        "SMs": (gpu.sms, 1, 300),
        "lanes of an SM": (gpu.fp32_lanes, 64, 128),
        "bytes of L2": (gpu.l2_bytes, 2**18, 2**29),
        "multiply-adds in FP16": (gpu.fp16_fmas, gpu.fp32_lanes, 8192),
    }
    far = [f"{value:,g} {what}" for what, (value, low, high) in ranges.items()
           if not low <= value <= high]  # fmt: skip
    if gpu.tf32_fmas not in (0, gpu.fp16_fmas / 2):  # half as fast in every GPU that has both
        far.append(f"{gpu.tf32_fmas:,g} multiply-adds in TF32")
    return ", ".join(far)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.id)
def test_a_data_sheet_is_of_a_gpu_that_could_be(gpu: Gpu) -> None:
    assert wrong_with(gpu) == ""


@pytest.mark.parametrize("record", load_records(), ids=lambda record: record.gpu.name)
def test_memory_is_as_fast_as_a_device_of_the_model_says(record: Record) -> None:
    told = 2 * record.gpu.memory_clock_mhz * record.gpu.memory_bus_bits / 8 / 1e3
    sheet = sheet_of(record)
    assert sheet is None or sheet.dram_gbs == pytest.approx(told, rel=0.1)


def test_an_unknown_compute_capability_is_an_error() -> None:
    orin = replace(find_gpu("t4"), compute_capability="8.7")
    for of_an_sm in ("shared_per_sm", "shared_per_block", "threads_per_sm"):
        with pytest.raises(LabError, match=r"compute capability 8\.7, only .* Add it to LIMITS in"):
            getattr(orin, of_an_sm)
