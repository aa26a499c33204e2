"""Loops whose bounds are known are written out, before a program is compiled.

A CUDA compiler writes out such loops by itself, or is told to by ``#pragma unroll``; then the
indices of ``acc`` are numbers, and ``acc`` can stand in registers. WGSL has no such word, and some
of its compilers guard each loop against running for ever, so that the driver keeps it: ``acc`` then
lies in memory. Written out beforehand, no compiler has a choice.

``loop_unrolling.ts`` is the same in JavaScript.
"""

import re

from sgemm_lab.expression import UnreadableError, whole_number

_CONSTANT = re.compile(r"^const (\w+) = ([^;]+);", re.M | re.A)
_LOOP = re.compile(r"for \(var (\w+) = 0u; \1 < ([^;]+); \1(?:\+\+| \+= ([^)]+))\) \{", re.A)
MOST_TURNS = 32
"""Longer loops stay: a program must not become too long to compile."""


def written_out(source: str) -> str:
    """Return a program in WGSL with its loops of known bounds written out."""
    constants: dict[str, int] = {}
    for name, text in _CONSTANT.findall(source):
        constants[name] = _known(re.sub(r"(\d)u\b", r"\1", text), constants) or 0
    return _without_loops(source, constants)


def _without_loops(text: str, constants: dict[str, int]) -> str:
    done, at = "", 0
    for loop in _LOOP.finditer(text):
        if loop.start() < at:  # inside a loop that is written out
            continue
        name, bound, step = loop.groups()
        to, by = _known(bound, constants), _known(step or "1", constants)
        if to is None or by is None or to > MOST_TURNS * by:
            continue
        end = _end(text, loop.end())
        body = _without_loops(text[loop.end() : end - 1], constants)
        turns = "".join(f"{{ const {name} = {i}u;{body}}}\n" for i in range(0, to, by))
        done += text[at : loop.start()] + turns
        at = end
    return done + text[at:]


def _end(text: str, start: int) -> int:
    """Return where the block ends that begins before ``start``."""
    depth, at = 1, start
    while depth:
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    return at


def _known(text: str, constants: dict[str, int]) -> int | None:
    """Return the whole number that a text stands for; None where a name in it is not known."""
    try:
        return whole_number(text, constants, floor=True)
    except UnreadableError:
        return None
