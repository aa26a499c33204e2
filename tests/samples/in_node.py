"""Runs TypeScript of the package in Node, for tests that hold it equal to Python."""

import atexit
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sgemm_lab.bundles import bundled
from sgemm_lab.files import PACKAGE
from sgemm_lab.npm import program

_ANSWERS = """
import {{ createInterface }} from "node:readline";
{imports}
const plain = (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? `${{value}}` : value;
const answer = {function};
for await (const line of createInterface({{ input: process.stdin }})) {{
  const said = [];
  for (const given of JSON.parse(line)) {{
    try {{
      said.push({{ gives: (await answer(...given)) ?? null }});
    }} catch (error) {{
      said.push({{ says: error.message, kind: error.constructor.name }});
    }}
  }}
  process.stdout.write(`${{JSON.stringify(said, plain)}}\\n`);
}}
"""
_CALL = "(name, ...given) => joined[name](...given)"


def in_node(entry: Path, cases: Sequence[Sequence[Any]]) -> list[Any]:
    """Call exports of the module ``entry``, bundled.

    Args:
        entry: an ES module that exports functions of plain data.
        cases: for each call the function's name, then what it takes.

    Returns:
        What each call gave back, through JSON.
    """
    said = answers({"joined": str(entry)}, _CALL, cases)
    assert all("gives" in one for one in said), said
    return [one.get("gives") for one in said]


def answers(
    modules: Mapping[str, str],
    function: str,
    cases: Sequence[Sequence[Any]],
    options: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return what a function in JavaScript answers to each list of arguments, errors too.

    The same function is asked in one process, loaded once.

    Args:
        modules: files of the package, by the name under which the function finds their exports.
        function: the function's text.
        cases: for each call what it takes.
        options: of Node.

    Returns:
        {"gives": value}, or {"says": message, "kind": class} of an error. What is not finite comes
        as text, such as "NaN".
    """
    process = _process(tuple(modules.items()), function, tuple(options))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(cases)}\n")
    process.stdin.flush()
    said = process.stdout.readline()
    assert said, f"Node ended with status {process.wait()}."
    found: list[dict[str, Any]] = json.loads(said)
    return found


@cache
def _process(
    modules: tuple[tuple[str, str], ...], function: str, options: tuple[str, ...]
) -> subprocess.Popen[str]:
    """Return the process that answers, started once; it ends with this one, as its input does."""
    imports = "\n".join(f'import {name} from "./{name}.mjs";' for name, _ in modules)
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    for name, path in modules:
        text = _bundled(PACKAGE / path)
        Path(folder.name, f"{name}.mjs").write_text(text, encoding="utf-8")
    main = Path(folder.name, "driver.mjs")
    main.write_text(_ANSWERS.format(imports=imports, function=function), encoding="utf-8")
    pipe = subprocess.PIPE
    return subprocess.Popen([program(), *options, str(main)], stdin=pipe, stdout=pipe, text=True)


_bundled = cache(bundled)
