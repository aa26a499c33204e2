"""The reader's kernel against the book's: checked, counted, and on a GPU timed."""

from difflib import unified_diff
from html import escape

from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.checking import verdict
from sgemm_lab.lab.counts import Counted
from sgemm_lab.lab.output import Output, sentence
from sgemm_lab.lab.speeds import Speeds, speeds

COUNTED_SIZE = (64, 64, 64)
RACED_SIZE = (4096, 4096, 4096)


def compare(mine: str | Kernel, against: str | Kernel) -> Output:
    """Check and count your kernel beside one of the book's; on a GPU time both at 4096³.

    Begins with the lines that you changed. A kernel that does not compile, or a tile that does not
    fit, gives a sentence with your own line numbers.
    """
    mine, book = kernel_of(mine), kernel_of(against)
    parts: list[Output | Counted | Speeds] = [_changes(mine, book)]
    try:
        parts += [verdict([mine]), Counted([book, mine], COUNTED_SIZE)]
        if session.live():
            parts.append(speeds([book, mine], [RACED_SIZE]))
    except LabError as problem:
        parts.append(sentence(str(problem)))
    return Output(
        "".join(part._repr_html_() for part in parts), "\n\n".join(repr(part) for part in parts)
    )


def _changes(mine: Kernel, book: Kernel) -> Output:
    """List the lines that differ, as ``diff`` does, with the numbers of both sources."""
    before, after = (kernel.source.splitlines() for kernel in (book, mine))
    changed = "\n".join(unified_diff(before, after, book.title, "yours", lineterm="", n=0))
    if not changed:
        return sentence(f"Not changed: these are the lines of “{book.title}”.")
    return Output(f'<pre tabindex="0"><code>{escape(changed)}</code></pre>', changed)
