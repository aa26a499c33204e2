"""Roofs from data sheets and records, and kernels under them."""

from dataclasses import replace

import pytest
from record_samples import DEVICE, reading, record, run

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.gpu import GPUS, find_gpu
from sgemm_lab.models.roofline import (
    Roof,
    all_gpus,
    attainable,
    data_sheet_roofs,
    measured_points,
    measured_roofs,
    records_of,
    simulated_points,
)
from sgemm_lab.records.gpu_record import Counters, Record
from sgemm_lab.records.store import load_records

MB = 2**20
ROOFS = [Roof("peak", 1000.0, "", False), Roof("dram", 50.0, "", False)]


def test_data_sheet_roofs_are_peak_dram_and_shared() -> None:
    h200 = find_gpu("h200")
    roofs = {roof.level: roof for roof in data_sheet_roofs(h200)}
    assert {level: roof.value for level, roof in roofs.items()} == {
        "peak": h200.peak_gflops, "dram": 4800, "shared": h200.shared_gbs,
    }  # fmt: skip
    assert not any(roof.measured for roof in roofs.values())
    assert all("data sheet" in r.source or "arithmetic" in r.source for r in roofs.values())


def test_measured_roofs_are_l2_from_inside_it_and_dram_from_far_outside() -> None:
    read = {4: 900.0, 16: 800.0, 32: 500.0, 1024: 400.0}
    taken = run(
        readings=(
            *(reading("bandwidth.read", size * MB, value, value) for size, value in read.items()),
            reading("rate.fma", 0, 60_000.0, 50_000.0, 55_000.0, unit="GFLOP/s"),
            reading("bandwidth.shared", 0, 30_000.0),
        )
    )
    roofs = {roof.level: roof for roof in measured_roofs(record(taken))}
    assert {level: roof.value for level, roof in roofs.items()} == {
        "l2": 800.0, "dram": 400.0,
    }  # fmt: skip
    assert {roof.source for roof in roofs.values()} == {"measured, NVIDIA H200, 2026-01-02"}


@pytest.mark.parametrize(("intensity", "gflops"), [(1, 50), (20, 1000), (40, 1000), (19, 950)])
def test_the_lower_roof_limits(intensity: float, gflops: float) -> None:
    assert attainable(ROOFS, "dram", intensity) == gflops


TILED = load_kernel("tiled")


def counted(**values: float) -> Record:
    return record(run(counters=(Counters("tiled", TILED.fingerprint, 10, 20, 30, values),)))


def test_points_follow_from_the_gpus_byte_counters() -> None:
    found = counted(dram_read_bytes=400.0, dram_write_bytes=200.0, l2_to_l1_bytes=1200.0,
                    )  # fmt: skip
    places = {p.level: p for p in measured_points(found, TILED, 777.0, (10, 20, 30), 1.625)}
    assert {level: place.intensity for level, place in places.items()} == {
        "dram": 12000 / 600, "l2": 12000 / 1200, "shared": pytest.approx(64 / (128 * 1.625)),
    }  # fmt: skip
    assert {(place.kernel, place.gflops) for place in places.values()} == {("tiled", 777.0)}


def test_a_missing_or_zero_counter_gives_no_point() -> None:
    found = counted(l2_to_l1_bytes=1200.0)
    assert [p.level for p in measured_points(found, TILED, 1.0, (10, 20, 30), 0.0)] == ["l2"]


def test_simulated_wavefronts_give_a_place_without_counters() -> None:
    (place,) = simulated_points(TILED, 777.0, 1.625)
    assert (place.level, place.intensity) == ("shared", pytest.approx(64 / (128 * 1.625)))
    assert place.note == "1.625 wavefronts of 128 bytes per multiply-add of a warp, simulated"
    assert simulated_points(TILED, 777.0, 0.0) == []


def test_counters_of_another_source_give_no_point() -> None:
    other = replace(TILED, source=TILED.source.replace("acc = 0.0f", "acc = 1.0f"))
    assert measured_points(counted(l2_to_l1_bytes=1.0), other, 1.0, (10, 20, 30), 0.0) == []


@pytest.mark.parametrize(
    ("device", "gpu"),
    [("NVIDIA H200", "h200"), ("NVIDIA A100-SXM4-40GB", "a100"), ("NVIDIA H100 80GB HBM3", "h100"),
     ("Tesla T4", "t4"), ("NVIDIA Z40", None), ("NVIDIA GH200 480GB", None)],
)  # fmt: skip
def test_a_record_belongs_to_its_own_gpu_only(device: str, gpu: str | None) -> None:
    found = Record(replace(DEVICE, name=device), (run(),))
    other = Record(replace(DEVICE, name="Other"), (run(),))
    for sheet in GPUS:
        assert records_of([other, found], sheet) == ([found] if sheet.id == gpu else [])


def test_a_gpu_without_data_sheet_has_its_drivers_description() -> None:
    described = replace(
        DEVICE, name="NVIDIA Z40", compute_capability="8.9", sms=142, max_clock_mhz=2520.0,
        memory_clock_mhz=9000.7, memory_bus_bits=384, shared_per_block=99 * 1024,
    )  # fmt: skip
    *book, ours = all_gpus([Record(DEVICE, ()), Record(described, ()), Record(described, ())])
    assert book == list(GPUS)
    assert (ours.id, ours.name) == ("nvidia-z40", "NVIDIA Z40")
    assert ours.dram_gbs == 2 * 9000.7 * 384 / 8 / 1e3  # 864 GB/s, as the L40S has them
    assert ours.peak_gflops == 142 * 128 * 2 * 2520 / 1e3
    assert [roof.source for roof in data_sheet_roofs(ours)][1] == "its driver"
    assert records_of([Record(described, ())], ours) == [Record(described, ())]


def test_a_gpu_of_an_unknown_architecture_is_omitted() -> None:
    future = replace(DEVICE, name="NVIDIA X1", compute_capability="99.0")
    assert all_gpus([Record(future, ())]) == list(GPUS)


def test_measured_roofs_of_the_book_stay_below_the_data_sheets() -> None:
    """``test_record_judging`` checks the same range for DRAM in every record."""
    for found in load_records():
        sheet = next((g for g in GPUS if records_of([found], g)), None)
        if sheet is None:
            continue
        limits = {roof.level: roof.value for roof in data_sheet_roofs(sheet)}
        measured = {roof.level: roof.value for roof in measured_roofs(found)}
        assert set(measured) == {"l2", "dram"}, f"{found.gpu.name} has no microbenchmarks."
        if found is load_records()[0]:
            assert 0.7 * limits["dram"] < measured["dram"] < 1.02 * limits["dram"]
        assert measured["dram"] < measured["l2"] < limits["shared"]
