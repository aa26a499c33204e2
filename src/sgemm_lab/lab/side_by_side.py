"""A kernel in CUDA and in WGSL side by side: what says the same stands in one row.

A table, so that it can be read by row without a script or a style sheet; the book's sheet puts the
two cells of a row below each other where the page is narrow.
"""

import re
from collections.abc import Sequence
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import CudaLexer, WgslLexer
from pygments.token import (
    STANDARD_TYPES,
    Comment,
    Name,
    Operator,
    Punctuation,
    String,
    Text,
    _TokenType,
)

from sgemm_lab.catalogue import file_name
from sgemm_lab.kernel import Kernel, body_start
from sgemm_lab.wgsl.line_pairing import Row, rows
from sgemm_lab.wgsl.programs import MOST_THREADS
from sgemm_lab.wgsl.statements import Statement

_WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*", re.A)
_SPELLING = {"const", "constexpr", "int", "float", "let", "var", "fn", "u32", "f32"}
"""Words that nearly every line has in the one language and not in the other."""

_UNCOLOURED = {Text, Text.Whitespace, Punctuation, Operator, Name}
"""Kinds of letters that have the colour of text."""

_UNMARKED = {Comment, String}

Tokens = list[tuple[_TokenType, str]]


def beside(kernel: Kernel, program: Kernel) -> str:
    """Return the HTML of a kernel and its program, row by row.

    Raises:
        LabError: a line of one has neither its fellow in the other nor a reason.
    """
    cuda = _lines(kernel.source, CudaLexer(stripnl=False))
    wgsl = _lines(program.source, WgslLexer(stripnl=False))
    body, before = [], ""
    for row in rows(kernel, program):
        ours, theirs = _words(row.cuda), _words(row.wgsl)
        both = bool(row.cuda and row.wgsl)
        note = f'<p class="why">{escape(row.why)}</p>' if row.why != before else ""
        left = _code(cuda, row.cuda, ours - theirs if both else set())
        right = _code(wgsl, row.wgsl, theirs - ours if both else set())
        # A note stands where a side has nothing, else with WGSL.
        cells = (left or note, right + note if both or not right else right)
        apart = ' class="apart"' if _is_apart(row, cuda, wgsl) else ""
        shown = "".join(f'<td role="cell">{cell}</td>' for cell in cells)
        body.append(f'<tr{apart} role="row">{shown}</tr>')
        before = row.why
    file = f"kernels/{file_name(kernel)}"
    own = [*_own_words(kernel, program), *_smaller_block(kernel, program)]
    said = "".join(f" {escape(one)}" for one in own)
    caption = (
        f"<b>{escape(program.title)}</b> · lines that say the same stand together; marked are "
        f"words that the other language has otherwise.{said}"
    )
    return (
        f'<figure class="lab-source lab-beside"><figcaption>{caption}</figcaption>'
        '<table role="table"><thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" scope="col">CUDA · {escape(file)}</th>'
        '<th role="columnheader" scope="col">WGSL</th></tr></thead>'
        f'<tbody role="rowgroup">{"".join(body)}</tbody></table></figure>'
    )


def _code(lines: Sequence[Tokens], some: Sequence[Statement], marked: set[str]) -> str:
    """Return the lines of some statements; nothing where there are none."""
    code = "".join(
        _line(lines[number - 1], marked)
        for one in some
        for number in range(one.first, one.last + 1)
        if lines[number - 1]
    )
    # The style is for notebooks, which do not have the book's style sheet.
    return f'<pre style="white-space:pre-wrap"><code>{code}</code></pre>' if code else ""


def _line(tokens: Tokens, marked: set[str]) -> str:
    """Return a line, with what the other language says otherwise marked."""
    text = ""
    for kind, value in tokens:
        shown = escape(value)
        if _UNMARKED.isdisjoint(kind.split()):
            shown = _WORD.sub(
                lambda word: f"<mark>{word[0]}</mark>" if _plain(word[0]) in marked else word[0],
                shown,
            )
        name = "" if kind in _UNCOLOURED else STANDARD_TYPES.get(kind, "")
        text += f'<span class="{name}">{shown}</span>' if name else shown
    rest = text.lstrip(" ")
    indent = len(text) - len(rest)
    if not indent:
        return f'<span class="line">{text}\n</span>'
    spaces = f'<span class="in">{" " * indent}</span>'
    return f'<span class="line" style="--in:{indent}">{spaces}{rest}\n</span>'


def _words(some: Sequence[Statement]) -> set[str]:
    """Return the words of the code of some statements; what asserts say in quotes is no code."""
    text = " ".join(re.sub(r'".*?"', "", one.code) for one in some)
    return {_plain(word) for word in _WORD.findall(text)} - _SPELLING


def _plain(word: str) -> str:
    """Return a number without the letter that says what it is; any other word as it is."""
    return word.rstrip("uf") if word[0].isdigit() else word


def _lines(source: str, lexer: Lexer) -> list[Tokens]:
    """Return the tokens of each line. A line that is empty has none."""
    lines: list[Tokens] = [[]]
    for kind, value in lexer.get_tokens(source):
        for n, part in enumerate(value.split("\n")):
            if n:
                lines.append([])
            if part:
                lines[-1].append((kind, part))
    return lines


def _is_apart(row: Row, cuda: Sequence[Tokens], wgsl: Sequence[Tokens]) -> bool:
    """Whether a source has an empty line above the first line of a row."""
    return any(
        bool(some) and not lines[some[0].first - 2]
        for some, lines in ((row.cuda, cuda), (row.wgsl, wgsl))
    )


def _own_words(kernel: Kernel, program: Kernel) -> list[str]:
    """Return the sentences of a program's head comment that its kernel's does not have."""
    known = _sentences(kernel.source)
    return [one for one in _sentences(program.source) if one not in known]


def _smaller_block(kernel: Kernel, program: Kernel) -> list[str]:
    """Return why constants are not the kernel's: not every card takes a block of its threads."""
    ours, theirs = (one.launch_shape(1, 1, 1).threads for one in (kernel, program))
    if ours <= MOST_THREADS:
        return []
    return [
        f"The CUDA kernel has {ours:,} threads in a block. Every card takes {MOST_THREADS}, so "
        f"the block is smaller here and has {theirs}."
    ]


def _sentences(source: str) -> list[str]:
    """Return the sentences of a head comment, below its fields."""
    lines = [line.removeprefix("//").strip() for line in source.splitlines()[: body_start(source)]]
    prose = " ".join(lines[lines.index("") + 1 :]) if "" in lines else ""
    return re.split(r"(?<=\.) (?=[A-Z])", prose) if prose else []
