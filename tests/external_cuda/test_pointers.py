"""Kernels of a program that is followed use pointers that lie in memory."""

import pytest
from file_reports import checked, errors, followed, program_text
from turns import TAKES_TURNS, TODAY

pytestmark = TAKES_TURNS

BATCHED = program_text("batched")
EVERY_PLACE = program_text("every_place")
PITCHED = program_text("pitched")


@pytest.mark.parametrize("text", [BATCHED, EVERY_PLACE, PITCHED])
@pytest.mark.sampled(every=3, first=TODAY)
def test_pointers_lead_to_what_the_host_allocated(text: str) -> None:
    program = followed(text)
    assert (program["stopped"], errors(program)) == ("", [])
    assert (program["printed"], program["status"]) == (["0 bad"], 0)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("b[k * n + col]", "b[col * n + k + 1]", "which has 49 elements"),
        ("c[row * n + col] = acc", "c[row] = acc", "of C[i]"),
        ("float *c = C[blockIdx.x]", "float *c = C[0]", "98 bad"),
        ("B[i], one, bytes, cudaMemcpyHostToDevice", "B[i], B[i], 0, cudaMemcpyDeviceToDevice",
         "nothing has written"),
        ("batched<<<", "cudaFree(C[1]); batched<<<", "leads to no array"),
        ("(dB, B, sizeof(B)", "(dB, B, sizeof(B) - sizeof(float*)", "nothing has written"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=2, first=TODAY)
def test_faults_behind_pointers_are_errors(right: str, wrong: str, says: str) -> None:
    assert right in BATCHED
    found = errors(followed(BATCHED.replace(right, wrong)))
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("struct Layer {", "struct alignas(64) Layer {", "an array of Layer, which has pointers"),
        ("row.other = &row", "shared->weights = (float*)&given", "leads to none of its arrays"),
    ],
)
def test_what_pointers_are_not_followed_is_said(right: str, wrong: str, says: str) -> None:
    program = followed(EVERY_PLACE.replace(right, wrong))
    assert says in program["stopped"]
    assert errors(program) == []


def test_an_element_behind_a_pitched_array_is_an_error() -> None:
    (found, *_) = errors(followed(PITCHED.replace("* p.pitch", "* p.pitch * 2")))
    assert "of a.ptr, which has 15360 elements" in found


def test_a_report_says_that_other_orders_are_left_out() -> None:
    report = checked(BATCHED)
    assert report.verdict == "no fault found"
    assert "No other order was tried: arrays of pointers" in report.said[0]
