"""How soon the command answers, as a reader calls it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMITS = [("count", "128", 1.0), ("check", "128", 1.0), ("count", "256", 1.5)]
"""Command, size of a square product, and seconds; all of them look for hazards."""


@pytest.mark.bench
@pytest.mark.parametrize(("command", "size", "limit"), LIMITS)
def test_the_command_answers_soon(command: str, size: str, limit: float, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    call = [sys.executable, "-m", "sgemm_lab", command, "tiled", "--size", size]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        done = subprocess.run(call, env=environment, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stderr
    print(f"\n{command} tiled --size {size}: {min(times):.2f} s")
    assert min(times) < limit
