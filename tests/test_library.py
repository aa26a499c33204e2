"""What ``import sgemm_lab`` offers."""

import pytest

from sgemm_lab import LabError, choice, matmul


@pytest.mark.parametrize("error", [None, "fp32"])
def test_lists_are_refused_before_a_gpu_is_looked_for(error: str | None) -> None:
    with pytest.raises(LabError, match=r"^a is a builtins.list, not an array on the GPU"):
        matmul([[1.0]], [[2.0]], error=error)


def test_the_gpu_of_a_choice_is_a_recorded_one() -> None:
    assert choice(4096, 4096, 4096, gpu="h200").gpu == "NVIDIA H200"
    with pytest.raises(LabError, match=r"No record is of a GPU called 'T4'. There are: NVIDIA H"):
        choice(64, 64, 64, gpu="T4")
