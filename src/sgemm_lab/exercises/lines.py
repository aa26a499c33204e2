"""Exercises in which the reader writes lines of a kernel: ``lines.ts`` judges them."""

import re
from dataclasses import dataclass, replace
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import AWKWARD_SIZES, QUICK_SIZES, first_fault
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.cuda.compiler import CompileError, compile_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.exercises.model import Exercise, Judgement, Machine
from sgemm_lab.kernel import Kernel, Size, parse_kernel
from sgemm_lab.simulator import worker

_REFUSED = re.compile(r"^\S+ does not compile for \w+\.\s+(?:Line (\d+): )?(.+)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines(Exercise):
    """Some lines of a book kernel, to be repaired or written. A whole kernel is taken as well."""

    kernel: str
    """The book's kernel, such as "tiled"."""
    place: str
    """The lines of it that the reader's replace, without the last line's end. They occur once."""
    start: str
    """What stands there at first."""
    criteria: dict[str, Any]
    """What is asked of a kernel that multiplies rightly: ``Criteria`` of ``criteria.ts``."""
    solution: str = ""
    """Lines that are right, where the book's are not the ones."""
    sizes: tuple[Size, ...] = ()
    """Sizes that are checked besides the usual ones."""
    only_whole_numbers: bool = False
    """Whether it is judged on whole numbers alone, where the exercise must say so: see
    ``Judge.run``."""

    @property
    def right_lines(self) -> str:
        """The lines that the solution shows."""
        return self.solution or self.place

    @property
    def compared(self) -> list[str]:
        """The book's kernels that the reader's is compared with."""
        figures = self.criteria["figures"].values()
        return sorted({figure["of"] for figure in figures if figure.get("of")})

    def data(self) -> dict[str, Any]:
        """Return what ``lines.ts`` needs to judge lines."""
        return {
            "kernel": self.kernel,
            "place": self.place,
            "sizes": (*QUICK_SIZES, *self.sizes),
            "onlyWholeNumbers": self.only_whole_numbers,
            "asks": self.criteria,
            "compared": self.compared,
            "sources": {name: load_kernel(name).source for name in (self.kernel, *self.compared)},
        }

    def kernel_of(self, answer: object) -> Kernel:
        """Return the kernel that an answer makes."""
        source = worker.ask("written", self._given(answer))["source"]
        return replace(parse_kernel("mine", source), parent=load_kernel(self.kernel).parent)

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        given, kernel = self._given(answer), self.kernel_of(answer)
        books = [load_kernel(name) for name in self.compared]
        made = {one.source: _made(one) for one in (kernel, *books)}
        said = worker.ask("judge_lines", {**given, "made": made})
        if said["right"] and machine.gpu:
            # A size that this GPU has no memory for is no fault of the kernel.
            only = self.only_whole_numbers
            on_gpu = check(kernel, AWKWARD_SIZES, only_whole_numbers=only)
            if fault := first_fault(result for result in on_gpu if result.fault):
                return Judgement(False, worker.ask("written", {**given, "fault": fault})["fault"])
        return Judgement(said["right"], said["text"], kernel if said["right"] else None)

    def _given(self, answer: object) -> dict[str, Any]:
        if answer is None:
            raise LabError("Put your lines in place of `None` and run the cell.")
        text = answer.source if isinstance(answer, Kernel) else answer
        if not isinstance(text, str):
            kind = type(answer).__name__
            raise LabError(f"Lines of a kernel are wanted, as text, not a {kind}.")
        return {"exercise": self.data(), "answer": text}


def _made(kernel: Kernel) -> dict[str, Any]:
    """Compile a kernel, for ``judge_lines``: PTX and what a thread takes, or why it is refused."""
    try:
        made = compile_kernel(kernel)
    except CompileError as error:
        found = _REFUSED.match(str(error))
        line, reason = found.groups() if found else (None, str(error))
        return {"refused": reason, "line": int(line or 0)}
    of_thread = {"registers": made.registers, "spill_bytes": made.spill_bytes}
    return {"ptx": made.ptx, "by": "", "ofThread": of_thread}
