"""The reader's kernel against the book's: checked, counted, and on a GPU timed."""

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.difference import changes
from sgemm_lab.lab.output import Output, sentence
from sgemm_lab.lab.speeds import Speeds, speeds

COUNTED_SIZE = (64, 64, 64)
RACED_SIZE = (4096, 4096, 4096)


def race(mine: Kernel, book: Kernel) -> Output:
    """List what the reader changed, then check, count and time two kernels side by side.

    A kernel that does not compile, or a tile that does not fit, is told in a sentence with the
    reader's own line numbers.
    """
    parts: list[Output | Counted | Speeds] = [changes(mine, book)]
    try:
        parts += [verdict([mine]), Counted([book, mine], COUNTED_SIZE)]
        if session.live():
            parts.append(speeds([book, mine], [RACED_SIZE]))
    except LabError as problem:
        parts.append(sentence(str(problem)))
    return Output(
        "".join(part._repr_html_() for part in parts), "\n\n".join(repr(part) for part in parts)
    )
