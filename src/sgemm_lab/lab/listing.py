"""A kernel's source on the page, with the lines that its parent does not have marked."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from pygments import highlight
from pygments.filter import Filter
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import CudaLexer, WgslLexer
from pygments.token import Punctuation, Text, Whitespace, _TokenType

from sgemm_lab.catalogue import file_name, load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, SourceLine, body_start
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.output import Output
from sgemm_lab.shared_code import INCLUDE, inlined_lines
from sgemm_lab.wgsl.programs import load_program

Place = int | str | None
"""A line of a source: its number, or a piece of its text."""

Tokens = Iterable[tuple[_TokenType, str]]


class _Uncoloured(Filter):
    """Leaves what has the text's colour without an element: half the elements of a listing."""

    def filter(self, lexer: Lexer | None, stream: Tokens) -> Iterator[tuple[_TokenType, str]]:
        plain = (Punctuation, Whitespace)
        return ((Text if kind in plain else kind, text) for kind, text in stream)


class UncolouredCuda(CudaLexer):  # type: ignore[misc]  # Pygments has no types
    """CUDA C++ in as few elements: the listings in a chapter's text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_filter(_Uncoloured())


def show(
    name: str | Kernel, first: Place = None, last: Place = None, *, against: str = ""
) -> Output:
    """Show a kernel's source, or lines of it; lines not in its parent, or ``against``, are marked.

    ``first`` and ``last`` are line numbers, or pieces of the text of those lines. Blanks that all
    lines begin with are cut. Lines inlined from ``device.cuh`` are left out, unless the lines begin
    or end among them.

    Raises:
        LabError: no line contains the text of ``first`` or ``last``.
    """
    kernel = kernel_of(name)
    other = against or kernel.parent
    parent = load_kernel(other) if other else None
    file = f"kernels/{file_name(kernel)}"
    return _listing(kernel, parent, CudaLexer(stripnl=False), file, first, last)


def wgsl(name: str) -> Output:
    """Show a kernel in WGSL, the language in which a page runs it; changed lines are marked.

    Raises:
        LabError: the kernel does not exist in WGSL.
    """
    program = load_program(name)
    parent = load_program(program.parent) if program.parent else None
    return _listing(program, parent, WgslLexer(stripnl=False), "in WGSL")


def _listing(
    kernel: Kernel,
    parent: Kernel | None,
    lexer: Lexer,
    file: str,
    first: Place = None,
    last: Place = None,
) -> Output:
    lines = kernel.lines_against(parent)
    inlined = inlined_lines(kernel.source)
    start = _line_number(kernel, first, 1) or body_start(kernel.source) + 1
    end = _line_number(kernel, last, start) or len(lines)
    lexer.add_filter(_Uncoloured())
    # Highlighted as a whole, then cut: a comment may run over several lines.
    texts = kernel.source.splitlines()
    texts[start - 1 : end] = _dedented(texts[start - 1 : end])
    html_lines = highlight("\n".join(texts), lexer, HtmlFormatter(nowrap=True)).splitlines()
    if inlined and start not in inlined and end not in inlined:
        html_lines[inlined.start - 1] = highlight(
            INCLUDE, lexer, HtmlFormatter(nowrap=True)
        ).strip()
        include = SourceLine(inlined.start, INCLUDE, changed=False)
        lines[inlined.start - 1 : inlined.stop - 1] = [include]
    shown = [line for line in lines if start <= line.number <= end]
    while shown and not shown[0].text:
        shown.pop(0)
    body = "".join(
        _html_line(html_lines[line.number - 1], line.number, line.changed) for line in shown
    )
    if sum(line.text.count("{") - line.text.count("}") for line in shown) > 0:
        body += _html_line("…", end + 1, changed=False)
    caption = f"<b>{escape(kernel.title)}</b> · {escape(file)}"
    if any(line.changed for line in shown):
        called = parent.display_name.partition(", ")[0] if parent else "no kernel"
        caption += f" · green: new since “{escape(called)}”"
    html = (
        f'<figure class="lab-source"><figcaption>{caption}</figcaption>'
        f'<pre tabindex="0"><code>{body}</code></pre></figure>'
    )
    text = "\n".join(
        f"{'+' if line.changed else ' '} {plain}"
        for line, plain in zip(shown, _dedented([line.text for line in shown]), strict=True)
    )
    return Output(html, f"{kernel.title}\n{text}")


def _dedented(lines: list[str]) -> list[str]:
    """Cut the blanks that all lines begin with, except empty ones and those of the preprocessor."""
    code = [line for line in lines if line and not line.startswith("#")]
    blanks = min((len(line) - len(line.lstrip()) for line in code), default=0)
    return [line if line.startswith("#") else line[blanks:] for line in lines]


def _line_number(kernel: Kernel, place: Place, start: int) -> int | None:
    """Return the number of a line; a text is looked for from line ``start`` on.

    Where the text begins with a line break, the line begins with the rest of it.
    """
    if not isinstance(place, str):
        return place
    texts = kernel.source.splitlines()
    for number in range(start, len(texts) + 1):
        if place in f"\n{texts[number - 1]}":
            return number
    raise LabError(f"No line of '{kernel.name}' from line {start} on holds “{place}”.")


def _html_line(text: str, number: int, changed: bool) -> str:
    # The style is for notebooks, which do not have the book's style sheet. The number is the
    # file's; the sheet shows it, so it is not copied with the code.
    mark = "border-left:4px solid var(--lab-l2, #127a55)" if changed else ""
    kind = "line changed" if changed else "line"
    return f'<span class="{kind}" data-line="{number}" style="{mark}">{text}\n</span>'
