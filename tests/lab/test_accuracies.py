"""Errors on pages: they are those of the record, and what is not measured is a sentence."""

import re
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from record_samples import record, run, samples

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.accuracies import by_levels, contributions, error_text, points_of
from sgemm_lab.lab.pictures.formats import split_panel
from sgemm_lab.lab.speeds import score_of
from sgemm_lab.measuring.accuracy import LENGTHS, SIDE
from sgemm_lab.records.data import CUBLAS_MODES, INPUTS, Accuracy
from sgemm_lab.style import NARROW

NAMES = ("promoted", *CUBLAS_MODES.values())
LARGE = 4096
NAMED = re.compile(
    r'<text style="font-size: (\d+)px;[^"]*text-anchor: (\w+);[^"]*" x="([\d.]+)" y="([\d.]+)"'
    r' transform="rotate\(-0 [^>]*>([^<]+)</text>'
)
"""A level text of a picture: size, anchor, place, words."""


def accuracy(name: str, inputs: str, k: int) -> Accuracy:
    known = "" if name in CUBLAS_MODES.values() else load_kernel(name).fingerprint
    size = (SIDE, SIDE, k)
    if (name, inputs) == ("cublas_fp16", "large"):
        return Accuracy(name, known, inputs, *size, lost=7)
    error = {"promoted": 2e-7, "cublas": 4e-7}.get(name, 3e-4)
    return Accuracy(name, known, inputs, *size, 0, error * k / 4096, 3.0)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = [replace(samples(name, 1e-3, size=LARGE), error=1e-6) for name in NAMES]
    errors = tuple(accuracy(name, kind, k) for name in NAMES for kind in INPUTS for k in LENGTHS)
    book = [record(replace(run(*speeds), accuracies=errors))]
    monkeypatch.setattr(session, "book_records", lambda: book)
    monkeypatch.setattr(session, "all_records", lambda: book)


@pytest.mark.usefixtures("recorded")
def test_errors_are_found_by_class_and_length() -> None:
    found = lab.errors(*NAMES)
    assert found.of("promoted", "unit", 1024) == pytest.approx(5e-8)
    assert found.of("cublas_fp16", "large") == np.inf
    assert found.worst("promoted", "cublas", ["half", "wide"]) == pytest.approx(0.5)
    table = repr(found.table())
    assert table.count("lost") == 1
    assert all(words in table for words in (*INPUTS.values(), "cuBLAS TF32", "promoted"))
    assert "K = 16,384" in repr(found.by_length("half"))


@pytest.mark.usefixtures("recorded")
def test_what_was_not_measured_is_a_sentence() -> None:
    with pytest.raises(LabError, match="Errors of 'naive' are not recorded at K = 4096"):
        lab.errors("naive").of("naive")
    with pytest.raises(LabError, match="cuBLAS in tf32 is not recorded at 64³"):
        lab.library("tf32", 64)


@pytest.mark.usefixtures("recorded")
def test_the_picture_has_a_point_for_each_kernel_and_mode() -> None:
    picture: Any = lab.speed_and_error("promoted", conclusion="One wins.")
    drawn = picture._repr_mimebundle_()[0]["image/svg+xml"]
    assert all(name in drawn for name in ("promoted", "cuBLAS FP32", "cuBLAS FP16"))
    assert lab.library("fp16").gflops == pytest.approx(2 * LARGE**3 / 1e-3 / 1e9)


@pytest.mark.usefixtures("recorded")
def test_a_point_without_its_own_error_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors by class are of a smaller C, so of another product."""
    book = [record(run(*(samples(name, 1e-3, size=LARGE) for name in NAMES)))]
    monkeypatch.setattr(session, "book_records", lambda: book)
    monkeypatch.setattr(session, "all_records", lambda: book)
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
    fewer = lab.fewer()
    plain, joined = by_levels((LARGE * 4,) * 3)
    inside = fewer.inside("warp_groups_fp32")
    for chain, found, arithmetic in ((plain, fewer, "fp32"), (joined, inside, "3xtf32")):
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


def test_levels_do_what_the_pages_caption_says_of_them() -> None:
    plain, joined = by_levels((LARGE * 4,) * 3)
    library = {one.arithmetic: one for one in points_of([], (LARGE * 4,) * 3)}
    for chain in (plain, joined):
        assert all(one.error < more.error for one, more in pairwise(chain))
        faster = [one.tflops < more.tflops for one, more in pairwise(chain)]
        assert sum(faster) > len(faster) / 2
    assert all(one.error > library["fp32"].error for one in plain[1:])
    assert joined[2].error < library["fp32"].error
    assert joined[2].tflops > library["fp32"].tflops
    most = max(one.tflops for one in (*plain, *joined))
    assert min(library["tf32"].tflops, library["fp16"].tflops) > most


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
        (("stages", "stream_k", "mma_fp16:BK=32", "mma_tf32:BK=32", "mma_tf32_ahead",
          "three_products", "promoted", "promoted_rows", "warp_groups", "warp_groups_fp32"),
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


def test_three_products_leave_what_fp32_rounds_away_and_one_does_not() -> None:
    left = contributions()
    assert 1e-4 < left["one"] < 5e-4
    assert left["four"] <= left["three"] < 2.0**-23
    assert lab.contributions()["one"] == error_text(left["one"])
    assert error_text(2.44e-7) == "2.4·10⁻⁷"


def test_two_parts_hold_all_but_two_bits() -> None:
    assert "2 are left" in split_panel("In two").text
    assert "TF32 has 8 bits of exponent and 10 of fraction" in lab.formats("Formats").text
