"""The occupancy model beside the driver of an H200, and beside NVIDIA's own header."""

import json
from pathlib import Path
from typing import Any

import pytest

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import LIMITS, Launch, occupancy, refusal

DATA = Path(__file__).parents[1] / "data"
H200 = json.loads((DATA / "occupancy_h200.json").read_text())
HEADER = json.loads((DATA / "occupancy_header.json").read_text())
CAPABILITIES = [key for key in HEADER if key != "cuda"]


def blocks(capability: str, launch: Launch) -> int:
    """What the API would answer: 0 where no block can run."""
    if refusal(LIMITS[capability], launch):
        return 0
    return occupancy(LIMITS[capability], launch).blocks


def rows() -> list[list[Any]]:
    return [*H200["cases"], *(row for _, row in H200["kernels"])]


def test_equals_the_h200_in_every_case() -> None:
    assert H200["device"] == "NVIDIA H200"
    capability = H200["compute_capability"]
    wrong = []
    for threads, registers, static, dynamic, preference, answer in rows():
        launch = Launch(threads, registers, static + dynamic)
        if preference in (-1, 100) and blocks(capability, launch) != answer:
            wrong.append((launch, answer))
    assert wrong == []


def test_every_kernel_of_the_book_was_asked_about_as_it_is_now() -> None:
    asked = dict(H200["kernels"])
    for kernel in load_kernels(variants=True):
        shape = kernel.launch_shape(4096, 4096, 64)
        if kernel.name in asked:
            assert asked[kernel.name][0] == shape.threads
            assert asked[kernel.name][3] == shape.shared_bytes
    assert len(asked) >= 22


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_equals_nvidias_header(capability: str) -> None:
    limits = LIMITS[capability]
    refused = 0
    for threads, registers, shared, answer, warps, by_registers, by_shared in HEADER[capability]:
        launch = Launch(threads, registers, shared)
        assert blocks(capability, launch) == answer, launch
        if answer == 0:
            refused += 1
            continue
        room = occupancy(limits, launch).room
        assert (room["warps"], room["registers"]) == (warps, by_registers)
        assert room["shared"] == by_shared
    assert 0 < refused < len(HEADER[capability]) / 3


@pytest.mark.parametrize(
    ("launch", "sentence"),
    [
        (Launch(0, 32, 0), "A block has 1 to 1,024 threads, not 0."),
        (Launch(1025, 32, 0), "A block has 1 to 1,024 threads, not 1,025."),
        (Launch(32, 256, 0), "A thread has 1 to 255 registers, not 256."),
        (Launch(32, 0, 0), "A thread has 1 to 255 registers, not 0."),
        (Launch(32, 32, 166_913), "0 to 166,912 bytes of shared memory here, not 166,913."),
        (Launch(32, 32, -1), "not -1."),
        (Launch(1024, 65, 0), "registers for 28 warps. A block of 1,024 threads has 32: use fewer"),
    ],
)
def test_what_cannot_run_is_a_sentence(launch: Launch, sentence: str) -> None:
    with pytest.raises(LabError) as caught:
        occupancy(LIMITS["8.0"], launch)
    assert sentence in str(caught.value)
