"""Speed over error: the picture of some and the widget of all are drawn from one gathering."""

import re
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from error_samples import RECORDED, book

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.error_points import LOST
from sgemm_lab.lab import session, speed_error
from sgemm_lab.lab.speed_error import SIZES, by_levels, points_of
from sgemm_lab.lab.speeds import score_of
from sgemm_lab.measuring.accuracy import LENGTHS
from sgemm_lab.records.gpu_record import INPUTS
from sgemm_lab.style import NARROW

LARGE = 4096
NAMED = re.compile(
    r'<text style="font-size: (\d+)px;[^"]*text-anchor: (\w+);[^"]*" x="([\d.]+)" y="([\d.]+)"'
    r' transform="rotate\(-0 [^>]*>([^<]+)</text>'
)
"""A level text of a picture: size, anchor, place, words."""


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = book()
    monkeypatch.setattr(session, "book_records", lambda: found)
    monkeypatch.setattr(session, "all_records", lambda: found)
    monkeypatch.setattr(speed_error, "STRASSEN_RECORDS", SimpleNamespace(load_all=list))


@pytest.mark.usefixtures("recorded")
def test_the_picture_has_a_point_for_each_kernel_and_mode() -> None:
    picture: Any = lab.speed_and_error("promoted", conclusion="One wins.")
    drawn = picture._repr_mimebundle_()[0]["image/svg+xml"]
    assert all(name in drawn for name in ("promoted", "cuBLAS FP32", "cuBLAS FP16"))
    assert lab.library("fp16").gflops == pytest.approx(2 * LARGE**3 / 1e-3 / 1e9)


@pytest.mark.usefixtures("recorded")
def test_a_point_without_its_own_error_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors by class are of a smaller C, so of another product."""
    found = book(timed=None)
    monkeypatch.setattr(session, "book_records", lambda: found)
    monkeypatch.setattr(session, "all_records", lambda: found)
    with pytest.raises(LabError, match=r"error of promoted is not recorded at 4096³\. Run"):
        lab.speed_and_error("promoted", conclusion="One wins.")


def test_speed_and_error_are_of_the_same_product() -> None:
    found = {point.name: point for point in points_of(["stream_k"], (LARGE,) * 3)}
    score = score_of(load_kernel("stream_k"), (LARGE, LARGE, LARGE))
    assert found["stream_k"].error == score.error
    assert found["stream_k"].tflops == score.gflops / 1e3
    # C of the tables is smaller, and there K is shared out.
    assert lab.errors("stream_k").of("stream_k") < 0.6 * found["stream_k"].error


def test_strassens_points_are_those_of_its_record() -> None:
    fewer = lab.strassen_results()
    (plain,) = by_levels((LARGE * 4,) * 3)  # what was inside has left the book
    for chain, found, arithmetic in ((plain, fewer, "fp32"),):
        ways, errors = found.levels(LARGE * 4), found.errors(LARGE * 4).levels
        assert [one.error for one in chain] == list(errors[: len(ways)])
        assert [one.tflops for one in chain] == [found.tflops(LARGE * 4, way) for way in ways]
        assert {one.arithmetic for one in chain} == {arithmetic}
        assert [one.name for one in chain[1:]] == [str(way.levels) for way in ways[1:]]
        assert chain[0].name == found.plain(LARGE * 4).kernel
    # The two records agree on what cuBLAS does at this size, so they may stand in one picture.
    assert lab.library("fp32", LARGE * 4).error == pytest.approx(
        fewer.errors(LARGE * 4).cublas, rel=0.01
    )


def test_where_times_or_errors_of_a_size_are_missing_no_point_is_drawn() -> None:
    assert [chain[0].arithmetic for chain in by_levels((LARGE,) * 3)] == ["fp32"]
    assert by_levels((8192,) * 3) == []  # times, but no errors
    assert by_levels((1024,) * 3) == []  # errors, but no times
    assert by_levels((16384, 4096, 16384)) == []


def box_of(
    x: float, y: float, anchor: str, words: str, letters: float
) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a text, its letters taken as wide as in a wide font."""
    width = 0.6 * letters * len(words)
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
    return left, y - 0.75 * letters, left + width, y


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(
    ("names", "size", "levels"),
    [
        (("stages", "stream_k", "mma_tf32:BK=32",
          "three_products", "promoted", "wgmma_tf32", "wgmma_3xfp16"),
         LARGE, False),
        ((), LARGE * 4, True),
    ],
)  # fmt: skip
def test_no_name_lies_on_another(
    names: tuple[str, ...], size: int, levels: bool, wide: bool
) -> None:
    picture: Any = lab.speed_and_error(*names, conclusion="One wins.", size=size, levels=levels)
    drawn, metadata = picture._repr_mimebundle_()
    page = drawn["image/svg+xml"] if wide else metadata[NARROW]
    boxes = [
        (name, *box_of(float(x), float(y), anchor, name, float(letters)))
        for letters, anchor, x, y, name in NAMED.findall(page)
    ]
    points = points_of(names, (size,) * 3)
    points += [one for chain in by_levels((size,) * 3) if levels for one in chain]
    assert {one.name for one in points} <= {name for name, *_ in boxes}
    right = float(re.findall(r'viewBox="0 0 ([0-9.]+)', page)[0])
    for name, *box in boxes:
        assert 0 <= box[0] < box[2] <= right, name
    assert [
        (one, other)
        for (one, *a), (other, *b) in combinations(boxes, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ] == []


@pytest.mark.usefixtures("recorded")
def test_the_widget_has_all_that_is_recorded_of_both() -> None:
    widget = lab.speed_over_error()
    assert [way["title"] for way in widget.ways] == [
        "cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16", "promoted",
    ]  # fmt: skip
    assert len(RECORDED) == len(widget.shown)
    fp16, promoted = widget.ways[2:]
    large = list(INPUTS).index("large")
    assert fp16["errors"][large] == [LOST] * len(LENGTHS)
    assert promoted["errors"][large][LENGTHS.index(4096)] == 2e-7
    assert promoted["timed"] == [1e-6, None, None]
    assert promoted["first"] == [True, False, False]


def test_the_widget_says_of_every_kernel_what_the_record_says() -> None:
    widget = lab.speed_over_error()
    record = session.book_records()[0]
    ways = {way["title"]: way for way in widget.ways}
    for kernel in load_kernels(variants=True):
        scores = [record.score(kernel, size) for size in SIZES]
        found = [record.accuracy(kernel, inputs, k) for inputs in INPUTS for k in LENGTHS]
        if not any(scores) or not any(found):
            continue
        way = ways[kernel.name]
        for score, speed, error in zip(scores, way["tflops"], way["timed"], strict=True):
            assert (speed is None) is (score is None)
            if score and speed:
                assert speed == pytest.approx(score.gflops / 1e3, rel=1e-3)
                assert error == score.error
        errors = [error for of_class in way["errors"] for error in of_class]
        for one, error in zip(found, errors, strict=True):
            assert error == (LOST if one and one.lost else one and one.error)


def test_the_picture_and_the_widget_show_the_same_points() -> None:
    widget = lab.speed_over_error()
    widget.every = True
    for size, name in zip(SIZES, widget.sizes, strict=True):
        widget.size = name
        shown = {way["title"]: way for way in widget.shown}
        at = widget.sizes.index(name)
        kernels = [title for title, way in shown.items() if way["kind"] == "kernel"]
        for point in points_of(kernels, size):
            way = shown[point.name]
            assert way["timed"][at] == point.error
            assert way["tflops"][at] == pytest.approx(point.tflops, rel=1e-3)
        levels = [way for way in shown.values() if way["chain"]]
        points = [one for chain in by_levels(size) for one in chain[1:]]
        assert [way["timed"][at] for way in levels] == [one.error for one in points]


def test_the_fastest_of_each_arithmetic_stands_there_at_once() -> None:
    widget = lab.speed_over_error()
    widget.k = 4096
    first = {way["title"] for way in widget.shown}
    widget.every = True
    for way in widget.shown:
        if way["kind"] == "kernel" and way["title"] not in first:
            better = [one for one in widget.shown if one["arithmetic"] == way["arithmetic"]
                      and one["kind"] == "kernel" and one["title"] in first]  # fmt: skip
            assert max(one["tflops"][0] for one in better) >= way["tflops"][0]
    assert {"cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16"} <= first


@pytest.mark.parametrize("k", LENGTHS)
def test_inputs_move_the_marks_that_the_page_says(k: int) -> None:
    widget = lab.speed_over_error()
    at, names = LENGTHS.index(k), list(INPUTS)

    def moved(way: dict[str, Any], inputs: str) -> float:
        error = way["errors"][names.index(inputs)][at]
        return float("inf") if error == LOST else float(error / way["errors"][0][at])

    ways = [way for way in widget.ways if way["errors"][0][at]]
    for way in ways:
        assert moved(way, "cancelling") > 50
        for inputs in ("large", "tiny", "wide"):
            assert (moved(way, inputs) == float("inf")) is (way["arithmetic"] == "fp16")
        if way["arithmetic"] in ("fp32", "tf32"):
            assert 0.3 < moved(way, "tiny") < 2


def test_where_no_size_is_near_no_speed_is_predicted() -> None:
    inside = lab.strassen_results("H100").inside("wgmma_3xfp16")
    rows = inside.levels_table(8192, 32768).html
    assert "–" in rows
    assert ">0.0<" not in rows
    ways = [(n, way) for n in (8192, 32768) for way in inside.levels(n)]
    assert 0 < max(inside.miss(n, way) for n, way in ways) < 0.1


def test_scaled_products_keep_tiny_inputs_and_unscaled_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_quoted", ["H100"])  # the card that measured both
    off = lab.errors("cublas", "promoted", "wgmma_3xfp16")
    for inputs in ("half", "tiny", "large", "wide"):
        assert off.of("wgmma_3xfp16", inputs) <= off.of("cublas", inputs)
    assert off.of("promoted", "tiny") > 50 * off.of("cublas", "tiny")
