"""Exercises in which the reader writes lines of a kernel: composed, compiled, checked, counted.

``lines.ts`` does the same in a page, with the same sentences.
"""

import re
from dataclasses import dataclass, replace

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import AWKWARD_SIZES, QUICK_SIZES, first_fault
from sgemm_lab.checking.on_gpu import check
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.cuda.compiler import CompileError
from sgemm_lab.errors import LabError
from sgemm_lab.exercises.criteria import Criteria
from sgemm_lab.exercises.model import Exercise, Judgement, Machine
from sgemm_lab.kernel import Kernel, Size, body_start, parse_kernel
from sgemm_lab.text import sentences

sentence = sentences(__file__)

_LINE = re.compile(r"(?:\bat |\b\w+\.cu, )line (\d+)\b")
_COMPILE_ERROR = re.compile(r"^Line (\d+): (.+)$")
_REFUSED = re.compile(r"^\S+ does not compile for \w+\.\s+")


@dataclass(frozen=True)
class Written:
    """The reader's kernel, and which of its lines are the reader's own."""

    kernel: Kernel
    first: int
    """1-based number of the reader's first line in the kernel's source."""
    last: int

    def line(self, number: int) -> str:
        """Return what the reader calls a line: its number in their text, or what it says."""
        if self.first <= number <= self.last:
            return sentence("lines.own", line=number - self.first + 1)
        text = self.kernel.source.splitlines()[number - 1]
        return sentence("lines.quoted", text=text.partition("  //")[0].strip())

    def in_reader_lines(self, message: str) -> str:
        """Return what the checker said, with the reader's line numbers."""
        return _LINE.sub(lambda match: sentence("lines.in", line=self.line(int(match[1]))), message)

    def refusal(self, error: CompileError) -> str:
        """Return the compiler's first words, with the reader's line numbers."""
        reason = _REFUSED.sub("", str(error)).splitlines()[0]
        if match := _COMPILE_ERROR.match(reason):
            number, reason = int(match[1]), match[2]
            # The sentence of a static_assert speaks for itself.
            if reason not in self.kernel.source:
                reason = sentence("lines.reason", line=self.line(number), reason=reason)
        return sentence("lines.broken", reason=reason)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines(Exercise):
    """Some lines of a book kernel, to be repaired or written. A whole kernel is taken as well."""

    kernel: str
    """The book's kernel, such as "tiled"."""
    place: str
    """The lines of it that the reader's replace, without the last line's end. They occur once."""
    start: str
    """What stands there at first."""
    criteria: Criteria
    """Of a kernel that multiplies rightly: does it do what the exercise is about?"""
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

    def written(self, answer: object) -> Written:
        """Return the kernel that an answer makes.

        Raises:
            LabError: there is no answer, or it is neither lines nor a kernel.
        """
        if isinstance(answer, Kernel):
            return Written(replace(answer, name="mine"), 1, len(answer.source.splitlines()))
        if answer is None:
            raise LabError("Put your lines in place of `None` and run the cell.")
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise LabError(f"Lines of a kernel are wanted, as text, not a {kind}.")
        text = answer.strip("\n").rstrip()
        if not text:
            raise LabError(sentence("lines.none"))
        book = load_kernel(self.kernel)
        if "__global__" in text:
            head = [] if _has_head(text) else book.source.splitlines()[: body_start(book.source)]
            source = "\n".join([*head, text])
            first = len(head) + 1
        else:
            before, _, after = book.source.partition(self.place)
            source = f"{before}{text}{after}"
            first = before.count("\n") + 1
        kernel = replace(parse_kernel("mine", source.rstrip() + "\n"), parent=book.parent)
        return Written(kernel, first, first + text.count("\n"))

    def data(self) -> dict[str, object]:
        """Return what a page needs to judge lines as this does."""
        return {
            "kernel": self.kernel,
            "place": self.place,
            "sizes": self.sizes,
            "onlyWholeNumbers": self.only_whole_numbers,
            "asks": self.criteria.data(),
            "compared": self.criteria.books,
            "sources": {
                name: load_kernel(name).source for name in (self.kernel, *self.criteria.books)
            },
        }

    def _judged(self, answer: object, machine: Machine) -> Judgement:
        written = self.written(answer)
        try:
            only = self.only_whole_numbers
            sizes = (*QUICK_SIZES, *self.sizes)
            fault = first_fault(check_simulated(written.kernel, sizes, only_whole_numbers=only))
            if fault is None:
                right, says = self.criteria.said(written.kernel)
                if not right:
                    return Judgement(False, says)
                if machine.gpu:
                    # A size that this GPU has no memory for is no fault of the kernel.
                    on_gpu = check(written.kernel, AWKWARD_SIZES, only_whole_numbers=only)
                    fault = first_fault(result for result in on_gpu if result.fault)
        except CompileError as error:
            return Judgement(False, written.refusal(error))
        if fault is not None:
            return Judgement(False, written.in_reader_lines(fault))
        return Judgement(True, sentence("lines.right", text=says), kernel=written.kernel)


def _has_head(text: str) -> bool:
    return text.startswith("//") and "// title:" in text
