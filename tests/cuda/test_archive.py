"""The archive of compiled texts: current, reproducible, and a sentence where it is missing."""

import os
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import archive
from sgemm_lab.cuda.shipped_ptx import shipped_kernels, shipped_text
from sgemm_lab.errors import LabError


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive that does not exist yet."""
    monkeypatch.setattr(archive, "ARCHIVE", tmp_path / "compiled.zip")
    return tmp_path / "compiled.zip"


def test_shipped_ptx_is_of_todays_kernels_and_no_others() -> None:
    kernels = shipped_kernels()
    assert all(archive.is_current(kernel, "ptx") for kernel in kernels), "run: make counts"
    assert len(archive.sources("ptx")) == len(kernels), "run: make counts"


def test_a_missing_text_is_a_sentence(empty: Path) -> None:
    with pytest.raises(LabError, match=r"PTX of 'tiled' is not .* write it with 'make counts'"):
        shipped_text(load_kernel("tiled"))


def test_members_are_replaced_by_suffix_and_equal_members_give_equal_bytes(empty: Path) -> None:
    naive, tiled, small = map(load_kernel, ["naive", "tiled", "tiled:TILE=8"])
    archive.write("sass", {tiled: "loop"})
    archive.write("ptx", {naive: "1", tiled: "2"})
    archive.write("ptx", {tiled: "3", small: "4"})
    assert list(archive.sources("ptx")) == ["tiled-TILE8.ptx", "tiled.ptx"]
    assert archive.read(naive, "ptx") is None
    assert [archive.read(tiled, suffix) for suffix in ("ptx", "sass")] == ["3", "loop"]
    assert not archive.is_current(load_kernel("naive"), "ptx")
    first = empty.read_bytes()
    empty.unlink()
    archive.write("ptx", {small: "4", tiled: "3"})
    archive.write("sass", {tiled: "loop"})
    assert empty.read_bytes() == first


def test_unchanged_members_do_not_rewrite_the_file(empty: Path) -> None:
    archive.write("ptx", {load_kernel("tiled"): "text"})
    os.utime(empty, ns=(0, 0))
    archive.write("ptx", {load_kernel("tiled"): "text"})
    assert empty.stat().st_mtime_ns == 0
