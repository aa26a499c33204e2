"""Listed answers to exercises of lines, judged by the pages' JavaScript in Node.

What Python says of each stands in ``tests/data/judged_lines.json``, which test_exercises.py holds
to what Python says now: so no answer is simulated twice.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from in_node import answers

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises import Lines, find_exercise

DATA = Path(__file__).parents[1] / "data"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads(
    (DATA / "judged_lines.json").read_text(encoding="utf-8")
)


BROKEN = "It does not compile"


def sample(
    also: Callable[[str, dict[str, Any]], bool], *, first: int
) -> list[tuple[str, dict[str, Any]]]:
    """Return of the exercises in turn the solution or a wrong answer that compiles, and others.

    Args:
        also: whether an entry of EXPECTED under a name is wanted beside these.
        first: 0 begins with a solution, 1 with a wrong answer.
    """
    cases = []
    for number, (name, listed) in enumerate(EXPECTED.items(), first):
        right = next(one for one in listed if one["right"])
        wrong = next(one for one in listed if not one["right"] and BROKEN not in one["text"])
        chosen = wrong if number % 2 else right
        cases += [(name, one) for one in listed if one is chosen or also(name, one)]
    assert len(cases) >= len(EXPECTED)
    return cases


def every() -> list[tuple[str, dict[str, Any]]]:
    """Return all listed answers."""
    return [(name, expected) for name, listed in EXPECTED.items() for expected in listed]


def find_lines(name: str) -> Lines:
    found = find_exercise(name)
    assert isinstance(found, Lines)
    return found


MODULES = {
    "lines": "exercises/lines.ts",
    "asking": "exercises/criteria.ts",
    "checking": "exercises/checked.ts",
    "kernels": "kernel.ts",
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
    checked: async ({ source, ptx }, sizes, onlyWholeNumbers) => {
      const results = [];
      for (const size of sizes.slice(0, most)) {
        const result = checking.checked(kernel(source), ptx, size, onlyWholeNumbers);
        if ("refused" in result) return result;
        results.push(result);
        if (result.fault !== null || result.refusal !== null) break;
      }
      return results;
    },
    said: async (asks, reader, books) => asking.said(
      asks,
      subject(reader),
      Object.fromEntries(Object.entries(books).map(([name, one]) => [name, subject(one)])),
    ),
  });
}"""
STOPPED = ("At ", BROKEN)
FEW, ALL = 1, 99
"""How many sizes a kernel is checked at. That a right one is right at all, other tests hold."""


def judged(
    cases: Sequence[tuple[str, dict[str, Any]]], made: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the judgement of each answer, with ``right`` and ``text``.

    Args:
        cases: names of exercises, each with an entry of EXPECTED.
        made: compiles a source, in the shape of the page's compilers.
    """
    given = []
    for name, expected in cases:
        exercise = find_lines(name)
        sources = {load_kernel(book).source for book in exercise.criteria.books}
        sources.add(exercise.written(expected["answer"]).kernel.source)
        most = ALL if expected["text"].startswith(STOPPED) else FEW
        compiled = {source: made(source) for source in sources}
        given.append((exercise.data(), expected["answer"], compiled, most))
    said = answers(MODULES, JUDGE, given)
    for case, one in zip(cases, said, strict=True):
        assert one.get("gives"), (case, one)
    return [one["gives"] for one in said]
