"""Write device functions out where they are called, in the text of a PTX module.

A call passes its arguments through small arrays of the state space ``.param``. Written out, these
are local arrays of the calling thread, which no counter of global or shared memory sees: hardware
passes them in registers. So nothing else of the simulator needs to know of calls. The grammar is
that of NVIDIA's "Parallel Thread Execution ISA", sections "Calling sequence" and ``call``.
"""

import math
import re
from dataclasses import dataclass
from itertools import count

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.ptx_text import closing_brace
from sgemm_lab.simulator.sentences import sentence
from sgemm_lab.simulator.source_locations import file_table, place_after

DEEPEST = 24
"""Times that a function which calls itself once is written out inside itself."""
MOST_COPIES = 300
"""Copies of a function inside itself, where it calls itself at several places."""

_FUNCTION = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|extern)\s+)*\.func\s*(?:\((?P<result>[^)]*)\)\s*)?"
    r"(?P<name>[\w$]+)\s*(?:\((?P<takes>[^)]*)\))?[\s\w.]*?(?P<end>[{;])",
    re.M,
)
_ENTRY = re.compile(r"\.entry\s+[\w$]+\s*(?:\([^)]*\))?[^{]*\{")
_SEQUENCE = re.compile(
    r"\{ // callseq (?P<number>\d+), \d+(?P<inside>.*?)\} // callseq (?P=number)\b", re.S
)
"""All that belongs to one call, as NVIDIA's compiler marks it."""
_CALL = re.compile(
    r"\bcall(?:\.uni)?\s*(?:\(\s*(?P<result>[\w$]+)\s*\)\s*,\s*)?(?P<name>[\w$%]+)"
    r"\s*(?:,\s*\((?P<given>[^)]*)\))?\s*(?:,\s*[\w$]+\s*)?;"
)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?")
_REGISTERS = re.compile(r"^\s*\.reg\s*\.\w+\s+(.*?);", re.M)
_SPARE = ".reg .b32 temp_param_reg;"
"""A register that calling sequences declare and do not use."""
_SILENT = frozenset({"vprintf"})
"""Functions of CUDA's own that change nothing a kernel computes with."""
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass(frozen=True)
class _Function:
    """A device function of the module."""

    result: str
    """Its array for what it returns; empty if it returns nothing."""
    takes: tuple[str, ...]
    body: str
    """Empty where it is only announced."""


_COUNTING_BARRIER = re.compile(
    r"(?P<guard>@!?%\w+\s+)?\b(?P<name>bar|barrier)(?:\.cta)?\.red\.(?P<what>popc\.u32|and\.pred|or\.pred)"
    r"(?:\.aligned)?\s+(?P<target>%[\w$]+)\s*,\s*(?P<number>[^;]*?)\s*,\s*(?P<holds>!?%[\w$]+)\s*;"
)


def counting_barriers(ptx: str) -> str:
    """Write each barrier that counts as three instructions: leave a vote, meet, read the votes."""
    return _COUNTING_BARRIER.sub(
        r"\g<guard>blockvote.leave \g<holds>; \g<guard>\g<name>.sync \g<number>; "
        r"\g<guard>blockvote.\g<what> \g<target>;",
        ptx,
    )


def inlined(ptx: str) -> str:
    """Return a module in which the kernels call nothing any more.

    Raises:
        LabError: a function is called that the module does not have, or through a pointer.
    """
    functions, rest = _functions(ptx)
    if not functions and not _SEQUENCE.search(ptx):
        return ptx
    numbers, files = count(1), file_table(ptx)
    pieces, position = [], 0
    for entry in _ENTRY.finditer(rest):
        if entry.start() < position:
            continue
        end = closing_brace(rest, entry.end())
        pieces += [rest[position : entry.end()]]
        pieces.append(_Writer(functions, numbers, files).written(rest[entry.end() : end], ()))
        position = end
    return "".join([*pieces, rest[position:]])


def _functions(ptx: str) -> tuple[dict[str, _Function], str]:
    """The device functions of a module, and the text without them."""
    found: dict[str, _Function] = {}
    pieces, position = [], 0
    for match in _FUNCTION.finditer(ptx):
        if match.start() < position:
            continue
        body, end = "", match.end()
        if match["end"] == "{":
            end = closing_brace(ptx, match.end())
            body = ptx[match.end() : end]
            end += 1
        if body or match["name"] not in found:
            result = _names(match["result"])
            found[match["name"]] = _Function("".join(result[:1]), _names(match["takes"]), body)
        pieces.append(ptx[position : match.start()])
        position = end
    return found, "".join([*pieces, ptx[position:]])


def _names(declared: str | None) -> tuple[str, ...]:
    return tuple(name for _, name, _ in _PARAMETER.findall(declared or ""))


class _CannotCallError(Exception):
    """A call that only a GPU makes: the key of the sentence, and the name of the function."""

    def __init__(self, why: str, name: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.name = name


class _Writer:
    """Writes the calls of one kernel out."""

    def __init__(
        self, functions: dict[str, _Function], numbers: "count[int]", files: dict[int, str]
    ) -> None:
        self.functions = functions
        self.numbers = numbers
        self.files = files

    def written(self, body: str, callers: tuple[str, ...]) -> str:
        """Return a body in which each calling sequence is the function that it calls."""

        def sequence(match: "re.Match[str]") -> str:
            try:
                return self._sequence(match["inside"], callers)
            except _CannotCallError as error:
                place = place_after(body[: match.end()], self.files)
                raise LabError(sentence(error.why, place=place, name=error.name)) from None

        return _SEQUENCE.sub(sequence, body)

    def _sequence(self, inside: str, callers: tuple[str, ...]) -> str:
        inside = inside.replace(_SPARE, "")
        call = _CALL.search(inside)
        if call is None:
            raise _CannotCallError("run.pointer")
        number = next(self.numbers)
        arrays = {name: f"{name}_call{number}" for _, name, _ in _PARAMETER.findall(inside)}
        middle = self._body_of(call, arrays, callers, number)
        around = inside[: call.start()], inside[call.end() :]
        before, after = (_renamed(_as_local(text), arrays) for text in around)
        return f"{before}\n{middle}\n{after}"

    def _body_of(
        self,
        call: "re.Match[str]",
        arrays: dict[str, str],
        callers: tuple[str, ...],
        number: int,
    ) -> str:
        name = call["name"]
        if name in _SILENT:
            return f"st.local.b32 [{arrays[call['result']]}], 0;"
        function = self.functions.get(name)
        if name.startswith("%") or function is None:
            raise _CannotCallError("run.pointer")
        if not function.body:
            raise _CannotCallError("run.call", name)
        calls = sum(called["name"] == name for called in _CALL.finditer(function.body))
        deepest = DEEPEST if calls < 2 else int(math.log(MOST_COPIES) / math.log(calls))
        if callers.count(name) >= deepest:
            return f"trap.depth{deepest};"
        given = [text.strip() for text in (call["given"] or "").split(",")]
        names = dict(zip(function.takes, (arrays.get(g, g) for g in given), strict=False))
        if function.result:
            names[function.result] = arrays[call["result"]]
        body = self.written(_own(function.body, names, number), (*callers, name))
        end = f"$end_call{number}"
        return re.sub(r"\bret\s*;", f"bra.uni {end};", body) + f"\n{end}:"


def _own(body: str, names: dict[str, str], number: int) -> str:
    """A function's body with registers, labels and arrays that no other call has."""
    prefixes = {
        name.strip().partition("<")[0]
        for line in _REGISTERS.findall(body)
        for name in line.split(",")
        if name.strip().startswith("%")
    }
    words = "|".join(sorted((re.escape(p[1:]) for p in prefixes), key=len, reverse=True))
    if words:
        body = re.sub(rf"%({words})(?=\d*\b|<)", rf"%c{number}_\1", body)
    body = re.sub(r"(\$L_\w+|__local_depot\d+)", rf"\1_call{number}", body)
    return _renamed(_as_local(body, set(names)), names)


def _as_local(text: str, known: set[str] | None = None) -> str:
    """Parameters of calls as local arrays. ``known`` are those of the function itself."""

    def declared(match: "re.Match[str]") -> str:
        bits = _BYTES[match[1].lstrip("bfsu")]
        return f".local .align 8 .b8 {match[2]}[{bits * int(match[3] or 1)}]"

    if known is None:
        text = _PARAMETER.sub(declared, text)
        return re.sub(r"\b(ld|st)\.param\.", r"\1.local.", text)
    names = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    if not names:
        return text
    return re.sub(rf"\b(ld|st)\.param\.([\w.]+)(?=[^;]*\[(?:{names})\b)", r"\1.local.\2", text)


def _renamed(text: str, names: dict[str, str]) -> str:
    if not names:
        return text
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w$%])({words})(?![\w$])", lambda match: names[match[1]], text)
