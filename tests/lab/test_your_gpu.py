"""The reader's own GPU, pretended: everything measured once, and in every plot from then on."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from turns import TODAY

from sgemm_lab import lab
from sgemm_lab.book import notebooks
from sgemm_lab.catalogue import load_kernels
from sgemm_lab.checking.judge import QUICK_SIZES
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import checking, ladders, session, your_gpu
from sgemm_lab.lab.closing import Closing
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.speeds import Speeds
from sgemm_lab.measuring.interleaved import Budget
from sgemm_lab.records.gpu_record import Measurement, Record, Run
from sgemm_lab.records.store import load_records, scores

SIZE = (1024, 1024, 1024)
BOOK = load_records()[0]
DEVICE = replace(BOOK.gpu, name="NVIDIA Z40", compute_capability="8.9", sms=142)
SLOWER = 5.0
CHAPTERS = [
    path
    for path in sorted((Path(__file__).parents[2] / "chapters").glob("*.md"))
    if "{code-cell}" in path.read_text(encoding="utf-8")
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Let the session see a GPU five times slower than the book's; keep what it was asked for."""
    asked: list[dict[str, Any]] = []

    def measure_run(
        kernels: Sequence[Kernel], *, sizes: Sequence[Size], micro: bool, **_: object
    ) -> Run:
        asked.append({"kernels": [k.name for k in kernels], "sizes": list(sizes), "micro": micro})
        names = {*asked[-1]["kernels"], "cublas"}
        source = next(r for r in BOOK.runs if r.measurements)
        latest = {(s.kernel, s.fingerprint, s.size) for s in scores([BOOK])}
        every = (m for r in BOOK.runs for m in r.measurements)
        taken = {
            (m.kernel, m.size): m
            for m in every
            if m.kernel == "cublas" or (m.kernel, m.fingerprint, m.size) in latest
        }
        card = max((r for r in BOOK.runs), key=lambda r: len(r.readings))
        return replace(
            source,
            measurements=tuple(
                replace(m, seconds=tuple(SLOWER * s for s in m.seconds))
                for m in taken.values()
                if m.kernel in names and (m.m, m.n, m.k) in sizes
            ),
            readings=card.readings if micro else (),
            counters=(),
        )

    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(session, "measure_run", measure_run)
    monkeypatch.setattr(session, "current_device", lambda: DEVICE)
    monkeypatch.setattr(your_gpu, "current_device", lambda: DEVICE)
    monkeypatch.setattr(ladders, "current_device", lambda: DEVICE)
    monkeypatch.setattr(your_gpu, "device_target", lambda: "sm_89")
    monkeypatch.setattr(your_gpu, "compile_kernel", lambda *_: None)
    yield asked
    session._here.clear()


def test_without_a_gpu_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "live", lambda: False)
    said = lab.my_gpu()
    assert isinstance(said, Output)
    assert "no GPU here" in repr(said)


def test_all_kernels_and_the_card_are_measured_in_one_run(asked: list[dict[str, Any]]) -> None:
    lab.my_gpu()
    (only,) = asked
    assert only["kernels"] == [kernel.name for kernel in load_kernels(variants=True)]
    assert only["sizes"] == [(n, n, n) for n in (1024, 2048, 4096)]
    assert only["micro"]


def test_a_kernel_that_the_gpu_is_too_old_for_is_left_out(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_kernel(kernel: Kernel, target: str) -> None:
        if kernel.name == "tiled":
            raise LabError(f"needs more than {target}")

    monkeypatch.setattr(your_gpu, "compile_kernel", compile_kernel)
    lab.my_gpu(1024)
    assert "tiled" not in asked[0]["kernels"]
    assert "naive" in asked[0]["kernels"]


def test_a_kernel_that_refuses_the_size_does_not_spoil_the_rest(
    asked: list[dict[str, Any]],
) -> None:
    found = lab.my_gpu(1024)  # the strip does not fit: the record has none, nor has the answer
    assert isinstance(found, Speeds)
    names = {score.kernel for score in found}
    assert "strip" not in names
    assert {"naive", "double_buffer"} <= names
    assert "Measured here, on NVIDIA Z40" in repr(found)


def test_a_run_that_was_stopped_says_so(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = session.measure_run

    def stopped(*arguments: Any, **options: Any) -> Run:
        return replace(whole(*arguments, **options), complete=False)

    monkeypatch.setattr(session, "measure_run", stopped)
    assert "Stopped early" in repr(lab.my_gpu(1024))


@pytest.mark.usefixtures("asked")
class TestEveryPlotShowsIt:
    @pytest.fixture(autouse=True)
    def _measure(self, asked: list[dict[str, Any]]) -> None:
        lab.my_gpu(1024, 4096)

    def test_the_ladder(self) -> None:
        widget = lab.ladder()
        assert {"id": "here", "name": "NVIDIA Z40, yours"} in widget.gpus
        assert widget.gpu == "here"

    def test_the_roofline_though_the_book_has_no_data_sheet(self) -> None:
        widget = lab.roofline("naive")
        assert widget.gpu == "nvidia-z40"
        measured = [p for p in widget.points if (p["gpu"], p["kind"]) == (widget.gpu, "measured")]
        recorded = lab.roofline("naive", gpu="h200").points
        best = max(p["gflops"] for p in recorded if (p["gpu"], p["kind"]) == ("h200", "measured"))
        assert [p["gflops"] for p in measured] == [pytest.approx(best / SLOWER)]

    def test_the_curves(self) -> None:
        picture = lab.curves("naive", "tiled", conclusion="It grows.")
        assert repr(picture) == "It grows. NVIDIA H200. Open marks: NVIDIA Z40, measured here."


def test_the_card_alone_is_measured_here_though_the_book_has_one(
    asked: list[dict[str, Any]],
) -> None:
    assert lab.card().device == DEVICE
    lab.card()
    assert [call["micro"] for call in asked] == [True]


def test_curves_of_kernels_that_were_not_measured_here_show_the_record_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = next(r for r in BOOK.runs if r.measurements)
    tiled = tuple(m for m in run.measurements if m.kernel in ("tiled", "cublas"))
    here = Record(DEVICE, (replace(run, measurements=tiled),))
    monkeypatch.setattr(session, "_here", [here])
    assert repr(lab.curves("naive", conclusion="It grows.")) == "It grows. NVIDIA H200."


def test_the_time_of_a_run_is_warming_up_and_samples() -> None:
    run = next(r for r in BOOK.runs if r.measurements)
    warm_up = Budget().warm_up_seconds
    quick = Measurement("naive", "", *SIZE, launches=2, seconds=(0.01, 0.02))
    slow = Measurement("naive", "", 9, 9, 9, launches=1, seconds=(1.0, 2.0))
    both = replace(run, measurements=(quick, slow))
    assert your_gpu.gpu_seconds(both.measurements, [SIZE]) == pytest.approx(0.06 + warm_up)
    assert your_gpu.gpu_seconds(both.measurements) == pytest.approx(0.06 + warm_up + 3.0 + 2.0)


def shown_by(chapter: Path) -> list[Any]:
    """Run the notebook of a chapter and return what its cells show."""
    names: dict[str, Any] = {}
    shown = []
    for cell in notebooks.notebook(chapter, None)["cells"][1:]:  # the first one installs
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, chapter.name, "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), chapter.name, "eval"), names))
    return shown


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
@pytest.mark.sampled(every=12, first=TODAY)
def test_a_notebook_shows_what_it_measures_on_a_gpu_without_a_data_sheet(
    chapter: Path, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "device_target", lambda: "sm_90a")
    for on_gpu in ("check", "check_sandboxed"):
        monkeypatch.setattr(
            checking, on_gpu, lambda kernel, _: check_simulated(kernel, QUICK_SIZES[:1])
        )
    shown = shown_by(chapter)
    races = [one for one in shown if isinstance(one, Speeds)]
    boxes = [one for one in shown if isinstance(one, Closing)]
    assert races or boxes or "lab.closing(" not in chapter.read_text(encoding="utf-8")
    assert all("Measured here, on NVIDIA Z40" in race.note for race in races)
    assert all(dict(box.rows)["Measured here"].startswith("NVIDIA Z40: ") for box in boxes)
