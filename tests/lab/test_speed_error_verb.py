"""Speed over error: the points are those of the records, and the caption says what they show."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.speed_error import KERNEL, LIBRARY, STRASSEN, Point, conclusion, points

SIZE = (4096, 4096, 4096)
LARGE = (16384, 16384, 16384)


def test_a_point_has_the_speed_and_error_of_one_recorded_product() -> None:
    score = session.book_records()[0].score(load_kernel("promoted"), SIZE)
    assert score is not None
    *library, promoted = points(["promoted"], SIZE, levels=False)
    assert (promoted.tflops, promoted.error) == (score.gflops / 1e3, score.error)
    assert [one.label for one in library] == ["cuBLAS FP32", "cuBLAS TF32", "cuBLAS FP16"]


def test_without_names_each_arithmetic_has_its_fastest_kernel() -> None:
    kernels = [one for one in points([], SIZE, levels=True) if one.kind == KERNEL]
    assert len({one.arithmetic for one in kernels}) == len(kernels)
    wgmma = next(one for one in kernels if one.arithmetic == "tf32")
    assert wgmma.tflops >= points(["mma_tf32"], SIZE, levels=False)[-1].tflops


def test_levels_of_strassens_product_are_those_of_its_record() -> None:
    recorded = lab.strassen_results()
    found = [one for one in points(["stages"], LARGE, levels=True) if one.kind == STRASSEN]
    timed = recorded.levels(LARGE[0])[1:]
    inside = recorded.inside("wgmma_3xfp16")
    none = next(one for one in points(["wgmma_3xfp16"], LARGE, levels=True) if one.kind == KERNEL)
    assert none.tflops == inside.tflops(LARGE[0], inside.plain(LARGE[0]))  # of its levels' run
    plain = [one for one in found if not one.leaves]
    assert [one.tflops for one in plain] == [recorded.tflops(LARGE[0], one) for one in timed]
    assert [one.error for one in plain] == list(
        recorded.errors(LARGE[0]).levels[1 : len(timed) + 1]
    )
    assert not [
        one for one in points(["stages"], (512, 1024, 512), levels=True) if one.kind == STRASSEN
    ]


CUBLAS = Point("cuBLAS FP32", LIBRARY, "fp32", 50.0, 1e-6)
GOOD = Point("good", KERNEL, "3xfp16", 100.0, 5e-7)
ROUGH = Point("rough", KERNEL, "fp16", 500.0, 2e-4)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([CUBLAS, GOOD, ROUGH], "good is the fastest with at most the error of cuBLAS in FP32: "
         "100 TFLOP/s, at 0.5 times its error. Everything faster has at least 200 times the error"),
        ([CUBLAS, GOOD], "Nothing here is faster."),
        ([CUBLAS, ROUGH], "Nothing with at most the error of cuBLAS in FP32 is faster than it."),
        ([GOOD], "cuBLAS in FP32 is not recorded here"),
    ],
)  # fmt: skip
def test_the_caption_says_what_is_fast_enough_and_accurate_enough(
    found: list[Point], words: str
) -> None:
    assert words in conclusion(found)


def test_the_picture_names_each_point_and_a_size_without_records_is_a_sentence() -> None:
    picture = lab.speed_over_error("promoted")._repr_mimebundle_()
    for drawing in (picture[0]["image/svg+xml"], *picture[1].values()):
        assert all(f">{name}</text>" in drawing for name in ("promoted", "cuBLAS FP32"))
    with pytest.raises(LabError, match="No speed with an error is recorded at 999³"):
        lab.speed_over_error(size=999)
