"""A second GPU's record, and a kernel that is not yet measured: ordinary states of the book."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import CHECKOUT
from sgemm_lab.lab import session
from sgemm_lab.records.gpu_record import Record
from sgemm_lab.records.store import RECORDS, load_record, not_yet_measured

BOOKS = CHECKOUT / "records" / "nvidia-h200.json"
L4 = "NVIDIA L4"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder of kernels and records, for a machine without a GPU."""
    monkeypatch.setenv("SGEMM_LAB_DATA", str(tmp_path))
    monkeypatch.setattr(session, "live", lambda: False)
    # Of the records the chapters' own alone: whatever others there are, here is none of them.
    for path in (*(CHECKOUT / "kernels").glob("*.cu*"), BOOKS):
        (tmp_path / path.parent.name).mkdir(exist_ok=True)
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    return tmp_path


@pytest.fixture
def second(data: Path) -> Record:
    """A slower GPU beside the H200, whose nvidia-smi reads no clock."""
    book = load_record(BOOKS)
    device = replace(book.gpu, name=L4, compute_capability="8.9", sms=58, max_clock_mhz=2040.0)
    runs = tuple(
        replace(
            run,
            clock_mhz=None,
            measurements=tuple(
                replace(m, seconds=tuple(9 * s for s in m.seconds)) for m in run.measurements
            ),
        )
        for run in book.runs
    )
    found = Record(device, runs)
    RECORDS.save(data / "records" / "nvidia-l4.json", found)
    return found


@pytest.fixture
def new_kernel(data: Path) -> str:
    """A kernel in the middle of the ladder, of which nothing is measured."""
    source = (data / "kernels" / "030_tiled.cu").read_text()
    fresh = source.replace("acc = 0.0f", "acc = -0.0f").replace("title: Tiled", "title: Fresh")
    (data / "kernels" / "035_fresh.cu").write_text(fresh)
    return "fresh"


def test_every_verb_goes_on_with_a_second_gpu(second: Record) -> None:
    assert [gpu["id"] for gpu in lab.ladder().gpus] == ["NVIDIA H200", L4]
    measured = {p["gpu"] for p in lab.roofline("naive").points if p["kind"] == "measured"}
    assert measured == {"h200", "l4"}
    assert lab.roofline("naive").gpu == "h200"
    assert lab.roofline("naive", gpu=L4).gpu == "l4"
    for said in (
        lab.measure("naive"),
        lab.card().table(),
        lab.effects(),
    ):
        assert "H200" in repr(said)
        assert L4 not in repr(said)


@pytest.mark.parametrize("name", ["Example 4242", "example-4242"])
def test_a_gpu_of_a_record_alone_is_chosen_by_name_and_by_id(data: Path, name: str) -> None:
    book = load_record(BOOKS)
    device = replace(book.gpu, name="Example 4242")
    RECORDS.save(data / "records" / "example-4242.json", Record(device, book.runs))
    found = lab.roofline("naive", gpu=name)
    assert found.gpu == "example-4242"
    assert {p["gpu"] for p in found.points if p["kind"] == "measured"} == {"h200", found.gpu}
    assert lab.tile_waves("split", gpu=name).gpu == found.gpu
    assert lab.occupancy(threads=256, registers=32, shared=0, gpu=name).gpu == found.gpu
    with pytest.raises(LabError, match="no data sheet of a GPU called 'Example 4243'"):
        lab.roofline("naive", gpu="Example 4243")


def test_where_nothing_read_a_clock_the_highest_of_the_device_stands_in(
    data: Path, second: Record
) -> None:
    (data / "records" / BOOKS.name).unlink()
    card = lab.card()
    assert (card.device.name, card.run.clock_mhz, card.clock_mhz) == (L4, None, 2040.0)
    assert lab.timeline("split").latency == round(card.latency["l2"])


def test_a_kernel_that_is_not_yet_measured_is_shown_as_such(new_kernel: str) -> None:
    said = not_yet_measured([new_kernel], " at 4096³")
    assert repr(lab.measure(new_kernel)) == said
    assert repr(lab.measure("tiled", new_kernel)).endswith(said)
    assert repr(lab.spread(new_kernel)) == said
    assert repr(lab.closing(new_kernel)) == (
        "Where fresh stands.\n"
        f"  What changed: {load_kernel(new_kernel).change}\n{not_yet_measured([new_kernel])}"
    )
    assert repr(lab.bound(new_kernel)) == not_yet_measured([new_kernel])
    assert repr(lab.curves("tiled", new_kernel, conclusion="It grows.")) == (
        f"It grows. {not_yet_measured([new_kernel])} {lab.recorded().gpu.name}."
    )
    points = lab.roofline("tiled", new_kernel).points
    assert {p["kind"] for p in points if p["kernel"] == new_kernel} == {"predicted"}
    assert new_kernel in {step["name"] for step in lab.ladder().kernels}
    assert "counted here" in repr(lab.count(new_kernel, size=64)).lower()


def test_after_a_kernel_that_is_not_yet_measured_the_next_has_its_box(
    new_kernel: str, data: Path
) -> None:
    """It is compared with the nearest forebear that was measured."""
    path = data / "kernels" / "050_sliding_window.cu"
    path.write_text(path.read_text().replace("// parent: tiled", f"// parent: {new_kernel}"))
    assert load_kernel("sliding_window").parent == new_kernel
    box = lab.closing("sliding_window")
    assert box.before is not None
    assert box.before.kernel.name == load_kernel(new_kernel).parent == "naive"


def test_a_kernel_whose_code_has_changed_is_not_yet_measured(data: Path) -> None:
    path = data / "kernels" / "030_tiled.cu"
    path.write_text(path.read_text().replace("acc = 0.0f", "acc = -0.0f"))
    assert repr(lab.measure("tiled")) == not_yet_measured(["tiled"], " at 4096³")
    assert "by the" not in repr(lab.count("tiled", size=256))


def test_a_record_is_found_by_a_part_of_its_gpus_name() -> None:
    assert lab.recorded().gpu == session.book_records()[0].gpu
    assert [lab.recorded(record.gpu.name.lower()).record for record in session.book_records()] == (
        session.book_records()
    )
    with pytest.raises(LabError, match="No record has a GPU whose name contains 'T4'"):
        lab.recorded("T4")
