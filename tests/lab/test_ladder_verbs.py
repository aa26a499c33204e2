"""The ladder, filled from records and from this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.lab import ladders, session
from sgemm_lab.records.store import load_records, scores

ROOT = Path(__file__).parents[2]


def test_every_recorded_speed_is_on_the_ladder():
    widget = lab.ladder()
    book = load_records()[0]
    known = {(s.kernel, (s.m, s.n, s.k)): s for s in scores([book])}
    names = {kernel.name: kernel.arithmetic for kernel in load_kernels(variants=True)}
    on_it = {
        (widget.kernels[kernel]["name"], tuple(widget.sizes[size])): row
        for gpu, kernel, size, *row in widget.rows
        if kernel >= 0 and widget.gpus[gpu]["name"] == book.gpu.name
    }
    assert {place for place in known if place[0] in names} == set(on_it)
    for place, (_, count, low, early, median, late, high, cublas) in on_it.items():
        score = known[place]
        assert count == len(score.samples)
        assert median == pytest.approx(score.gflops, rel=1e-5)
        library = score.library_gflops(names[place[0]])
        assert cublas == pytest.approx(library or 0, rel=1e-5)
        if names[place[0]] in ("fp32", "3xtf32", "3xfp16"):
            assert library == score.cublas_gflops
        assert low == pytest.approx(min(score.samples), rel=1e-5)
        assert high == pytest.approx(max(score.samples), rel=1e-5)
        assert low <= early <= median <= late <= high


def test_every_kernel_leads_to_its_chapter():
    chapters = {path.stem: path.read_text() for path in (ROOT / "chapters").glob("[0-9]*.md")}
    for step in lab.ladder().kernels:
        kernel = next(k for k in load_kernels(variants=True) if k.name == step["name"])
        pages = [stem for stem in chapters if int(stem.partition("_")[0]) == kernel.chapter]
        assert step["href"] == (f"{pages[0]}.html" if pages else "")
        assert step["chapter"].startswith(f"chapter {kernel.chapter}")
    tiled = next(step for step in lab.ladder().kernels if step["name"] == "tiled")
    assert (tiled["chapter"], tiled["href"]) == ("chapter 2, Tiling", "02_tiling.html")


def test_without_the_pages_a_chapter_has_only_its_number(monkeypatch):
    def missing(_name):
        raise LabError("The folder is missing.")

    monkeypatch.setattr(ladders, "data_folder", missing)
    tiled = next(step for step in lab.ladder().kernels if step["name"] == "tiled")
    assert (tiled["chapter"], tiled["href"]) == ("chapter 2", "")


def test_a_gpu_that_measured_nothing_yet_does_not_begin(monkeypatch):
    device = replace(load_records()[0].gpu, name="Tesla T4")
    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(session, "_here", [])
    monkeypatch.setattr(ladders, "current_device", lambda: device)
    widget = lab.ladder()
    assert widget.gpu == "NVIDIA H200"
    assert widget.gpus[0] == {"id": "here", "name": "Tesla T4, yours"}
