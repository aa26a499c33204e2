"""The ladder and the strip, filled from records and from this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.lab import ladders, session
from sgemm_lab.models.ladder import ladder as readme_ladder
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


def share(name):
    (step,) = [s for s in readme_ladder(load_records()) if s.kernel.name == name]
    return f"{100 * step.score.share:.0f} %"


def test_the_strip_names_the_step_before_and_the_step_after():
    folded = lab.ladder_strip("tiled", after=["tiled-gain"]).html
    assert folded.startswith('<details class="lab-later" data-lab-after="tiled-gain">')
    text = repr(lab.ladder_strip("tiled"))
    assert f"Before: Naive {share('naive')}." in text
    assert f"Here: Tiled {share('tiled')}." in text
    # Not a variant, and not the strip of all K: it was measured at another size.
    steps = [
        step
        for step in readme_ladder(load_records())
        if ":" not in step.kernel.name and (step.score is None or step.score.m == 4096)
    ]
    after = steps[[step.kernel.name for step in steps].index("tiled") + 1]
    assert f"Next: {after.title} " in text
    # float4 by row is a comparison that no chapter walks through.
    assert f"Before: float4 {share('float4')}." in repr(lab.ladder_strip("thread_tile_1d"))
    assert f"Next: Thread tile 1D {share('thread_tile_1d')}." in repr(lab.ladder_strip("float4"))
    assert f"Next: Tiled {share('tiled')}." in repr(lab.ladder_strip("naive"))
    assert "at 4096³ on NVIDIA H200" in text
