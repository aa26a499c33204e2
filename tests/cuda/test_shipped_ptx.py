"""Texts that travel with the package: of today's kernels, and told where one is missing."""

import json
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import shipped_ptx
from sgemm_lab.cuda.shipped_ptx import (
    MADE_OF,
    made_of,
    shipped_file,
    shipped_kernels,
    shipped_text,
)
from sgemm_lab.errors import LabError
from sgemm_lab.files import SHIPPED_PTX


def test_shipped_ptx_is_of_todays_kernels() -> None:
    made = {shipped_file(kernel).name: made_of(kernel) for kernel in shipped_kernels()}
    assert json.loads((SHIPPED_PTX / MADE_OF).read_text()) == made, "run: make counts"
    assert sorted(path.name for path in SHIPPED_PTX.glob("*")) == sorted([*made, MADE_OF])


def test_a_text_that_is_not_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_ptx, "SHIPPED_PTX", tmp_path)
    with pytest.raises(LabError, match=r"PTX of 'tiled' is not .* write it with 'make counts'"):
        shipped_text(load_kernel("tiled"))
