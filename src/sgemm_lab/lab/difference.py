"""What the reader changed in a kernel: the lines that came and went, as a short listing."""

import difflib
from html import escape

from sgemm_lab.kernel import Kernel, body_start
from sgemm_lab.lab.output import Output, sentence

_MOST_LINES = 40


def changes(mine: Kernel, book: Kernel) -> Output:
    """List the lines of ``mine`` that the book's kernel lacks, and those it lacks of the book's.

    New lines carry their number in the reader's source. Indentation, blank lines and the head
    comment do not count as changes.
    """
    lines = _changed(mine.source, book.source)
    if not lines:
        return sentence(f"Not changed: these are the lines of “{book.title}”.")
    rest = len(lines) - _MOST_LINES
    lines = lines[:_MOST_LINES]
    width = max(len(number) for _, number, _ in lines)
    rows = [(sign, f"{sign} {number:>{width}}  {text}") for sign, number, text in lines]
    if rest > 0:
        rows.append(("", f"… and {rest} more"))
    body = "".join(_html_line(sign, row) for sign, row in rows)
    caption = f"What you changed in <b>{escape(book.title)}</b>: + yours, − the book's"
    html = (
        f'<figure class="lab-source"><figcaption>{caption}</figcaption>'
        f'<pre tabindex="0"><code>{body}</code></pre></figure>'
    )
    text = "\n".join(row for _, row in rows)
    return Output(html, f"What you changed in {book.title}:\n{text}")


def _changed(mine: str, book: str) -> list[tuple[str, str, str]]:
    """Return (sign, line number, text) of every line that differs, in the reader's order."""
    own, theirs = _body(mine), _body(book)
    matcher = difflib.SequenceMatcher(
        a=[line.strip() for _, line in theirs],
        b=[line.strip() for _, line in own],
        autojunk=False,
    )
    changed = []
    for operation, start, end, own_start, own_end in matcher.get_opcodes():
        if operation != "equal":
            changed += [("−", "", line) for _, line in theirs[start:end]]
            changed += [("+", str(number), line) for number, line in own[own_start:own_end]]
    return changed


def _body(source: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a source below its head comment, without blank ones."""
    lines = list(enumerate(source.splitlines(), 1))
    return [(number, line) for number, line in lines[body_start(source) :] if line.strip()]


def _html_line(sign: str, text: str) -> str:
    # The style is for notebooks, which do not have the book's style sheet.
    if sign == "+":
        mark = "border-left:4px solid var(--lab-l2, #127a55)"
        return f'<span class="line changed" style="{mark}">{escape(text)}\n</span>'
    return f'<span class="line">{escape(text)}\n</span>'
