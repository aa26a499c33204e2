"""The program of chapter 1 that launches a kernel, run by the simulator in place of CuPy."""

import re
import sys
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.counting.kernel_counts import launch
from sgemm_lab.cuda.shipped_ptx import kernel_ptx

ROOT = Path(__file__).parents[2]
SIDE = 70
"""No multiple of a block's sides."""


class RawKernel:
    """A kernel that the simulator runs: only with the launch that its file asks for."""

    def __init__(self, source: str, entry: str) -> None:
        self.kernel = load_kernel("naive_rows")
        assert source == (ROOT / "kernels" / "010_naive_rows.cu").read_text(encoding="utf-8")
        self.entry = entry

    def __call__(self, grid: Any, block: Any, arguments: Any) -> None:
        a, b, c, *sides = arguments
        assert all(isinstance(side, np.int32) for side in sides)
        shape = self.kernel.launch_shape(*map(int, sides))
        assert (grid, block) == (shape.grid, shape.block)
        c[:] = launch(kernel_ptx(self.kernel), shape, a, b).arrays["C"]


def test_the_program_that_launches_a_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "chapters" / "01_memory_hierarchy.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", text, re.S)
    assert found is not None
    generator = np.random.default_rng(1)
    fake = SimpleNamespace(
        float32=np.float32,
        int32=np.int32,
        empty=np.empty,
        RawKernel=RawKernel,
        random=SimpleNamespace(rand=lambda *shape, dtype: generator.random(shape, dtype)),
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    with chdir(ROOT):
        exec(found[1].replace("4096", str(SIDE)), {})
    assert float(capsys.readouterr().out) < 1e-4
