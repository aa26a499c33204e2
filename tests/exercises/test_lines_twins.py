"""Exercises of lines in JavaScript: the same answers get the same sentences as in the notebook.

What Python says of each is kept in ``tests/data/judged_lines.json``, which test_exercises.py holds
to what Python says now: so no answer is simulated twice.
"""

import json
import re
from pathlib import Path
from typing import Any

from in_node import answers

from sgemm_lab.cuda.compiler import CompileError, compile_kernel
from sgemm_lab.exercises import Lines, find_exercise
from sgemm_lab.kernel import load_kernel, parse_kernel

JUDGED = Path(__file__).parents[1] / "data" / "judged_lines.json"
KEPT: dict[str, list[dict[str, Any]]] = json.loads(JUDGED.read_text(encoding="utf-8"))


def find_lines(name: str) -> Lines:
    found = find_exercise(name)
    assert isinstance(found, Lines)
    return found


MODULES = {
    "lines": "exercises/lines.js",
    "asking": "exercises/asks.js",
    "checking": "exercises/checked.js",
    "kernels": "kernel.js",
}
JUDGE = """async (exercise, answer, made, most) => {
  const kernel = (source) => kernels.parseKernel("mine", source);
  const subject = ({ source, ...rest }) => ({ kernel: kernel(source), ...rest });
  const compiled = async (source) => {
    if (!made[source]) throw new Error("It was not compiled: " + source);
    return made[source];
  };
  return lines.judged(exercise, answer, {
    compiled,
    compiledLike: (name, source) => compiled(source),
    checked: async ({ source, ptx }, sizes) =>
      checking.checked(kernel(source), ptx, sizes.slice(0, most)),
    said: async (asks, reader, books) => asking.said(
      asks,
      subject(reader),
      Object.fromEntries(Object.entries(books).map(([name, one]) => [name, subject(one)])),
    ),
  });
}"""
STOPPED = ("At ", "It does not compile")
FEW, ALL = 1, 99
"""How many sizes a kernel is checked at. That a right one is right at all, other tests hold."""


def made(source: str) -> dict[str, Any]:
    """Compile a source as NVRTC does, in the shape of the page's compilers."""
    kernel = parse_kernel("mine", source)
    try:
        found = compile_kernel(kernel)
    except CompileError as error:
        reason = re.sub(r"^\S+ does not compile for \w+\.\s+", "", str(error)).splitlines()[0]
        line = re.match(r"Line (\d+): (.+)$", reason)
        if not line:
            return {"refused": reason, "line": 0}
        return {"refused": line[2], "line": int(line[1])}
    of_thread = {"registers": found.registers, "spill_bytes": found.spill_bytes}
    return {"ptx": found.ptx, "by": "NVRTC", "ofThread": of_thread}


def asked(exercise: Lines, kept: dict[str, Any]) -> tuple[Any, ...]:
    """Return what JUDGE takes."""
    sources = {load_kernel(name).source for name in exercise.asks.books}
    sources.add(exercise.written(kept["answer"]).kernel.source)
    most = ALL if kept["text"].startswith(STOPPED) else FEW
    return exercise.data(), kept["answer"], {source: made(source) for source in sources}, most


def test_every_listed_answer_gets_the_sentence_that_the_notebook_says() -> None:
    cases = [(name, kept) for name, all_kept in KEPT.items() for kept in all_kept]
    given = [asked(find_lines(name), kept) for name, kept in cases]
    said = answers(MODULES, JUDGE, given)
    for (name, kept), one in zip(cases, said, strict=True):
        assert one.get("gives"), (name, one)
        gives = one["gives"]
        assert (gives["right"], gives["text"]) == (kept["right"], kept["text"]), name
