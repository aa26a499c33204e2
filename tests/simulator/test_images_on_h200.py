"""Textures and surfaces beside what an H200 read and wrote: every bit."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from foreign_samples import digest
from simulator_kernels import SURFACE, ptx_of
from texture_reads import MORE, READS, USES, Reads, Uses, whole_source

from sgemm_lab.external_cuda.prediction_accuracy import seen
from sgemm_lab.simulator import Result, simulate

RECORD = json.loads(
    (Path(__file__).parents[1] / "data" / "textures_h200.json").read_text(encoding="utf-8")
)
THREADS = 256


@cache
def ptx() -> str:
    return ptx_of(whole_source())


def launched(
    case: Reads | Uses, images: dict[str, npt.NDArray[Any]], sampling: dict[str, Any], result: str
) -> Result:
    """Run a case's kernel, each thread at its own place."""
    out = np.zeros(case.count * case.numbers, result)
    arrays = {**images, "at": case.at(), "o": out, "n": case.count}
    return simulate(
        ptx(), case.kernel, (-(-case.count // THREADS),), (THREADS,), arrays,
        images=dict.fromkeys(images, sampling), check_hazards=False,
    )  # fmt: skip


def test_the_record_is_of_these_cases() -> None:
    assert RECORD["gpu"] == "NVIDIA H200"
    assert sorted(RECORD["reads"]) == sorted(case.name for case in (*READS, *MORE))
    assert sorted(RECORD["uses"]) == sorted(case.name for case in USES)
    assert sum(case.linear for case in (*READS, *MORE)) > 50
    cases = (*READS, *MORE, *USES)
    numbers = sum(case.count * case.numbers for case in cases)
    assert (seen().texture_cases, seen().texture_numbers) == (len(cases), numbers)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in (*READS, *MORE)])
def test_a_texture_is_read_as_on_the_gpu(case: Reads) -> None:
    sampling = {
        "linear": case.linear, "normalized": case.normalized, "beyond": case.beyond,
    }  # fmt: skip
    done = launched(case, {"t": case.image()}, sampling, case.result)
    assert digest(done.arrays["o"]) == RECORD["reads"][case.name]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in USES])
def test_a_surface_is_read_and_written_as_on_the_gpu(case: Uses) -> None:
    image = case.image()
    done = launched(case, {"s": image, "w": np.zeros_like(image)}, SURFACE, case.type)
    assert [digest(done.arrays["o"]), digest(done.arrays["w"])] == RECORD["uses"][case.name]
