"""The MyST Markdown of chapters turned into the Markdown that Jupyter and Colab show.

markdown-it finds the blocks. Directives, comments, links to pages and values are rewritten, and all
other lines stay as they are. Anything else of MyST stops with a sentence, so that no directive
reaches a reader as raw text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from sgemm_lab.book.glossary import constants_table
from sgemm_lab.book.inline_values import ROLE, replacement_field
from sgemm_lab.errors import LabError

SYNTAX = MdParserConfig(enable_extensions={"amsmath", "colon_fence", "dollarmath"})
"""The Markdown of the chapters, as in _config.yml."""

_PARSER = create_md_parser(SYNTAX, RendererHTML)
_FENCES = ("fence", "colon_fence")
_KEPT_AS_WRITTEN = ("math_block", "amsmath")
_REMOVED = ("myst_line_comment", "myst_target")
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_OPTIONS = re.compile(r"(?:^:[\w-]+:.*\n)+", re.MULTILINE)
_VALUE = re.compile("\x00(\\d+)\x00")
"""Stands for a value, by its number, until the text is an f-string."""
_INLINE = re.compile(
    r"\{(?P<role>[\w:-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)"
    r"|(?P<code>(?<!`)(?P<fence>`+)(?!`).+?(?<!`)(?P=fence)(?!`))"
    r"|(?<!!)\[(?P<text>[^\]]*)\]\((?P<page>[\w./-]+\.md)(?:#[^)\s]*)?\)",
    re.DOTALL,
)

_BOXES = {"note", "tip", "warning"}
_DROPPED = {"panel", "workbench", "reader-card"}

_LEDGER = (
    "The list is made when the book is built, from the verdicts of all chapters. "
    "Read it on the page “{title}” of the book."
)


def directives(text: str) -> Iterator[tuple[str, str, list[int], str]]:
    """Yield name, argument, first line and line after, and content of each outermost directive."""
    for token in _PARSER.parse(text):
        found = _DIRECTIVE.fullmatch(token.info) if token.type in _FENCES else None
        if found and token.level == 0 and token.map:
            yield found[1], found[2], token.map, token.content


@dataclass(frozen=True)
class Piece:
    """A piece of a cell's Markdown: plain text, or an f-string where it holds values."""

    text: str
    live: bool
    """Whether the text is the inside of a raw f-string, ``rf\"\"\"…\"\"\"``."""


class Converter:
    """Turns the Markdown cells of one chapter.

    Args:
        chapter: the chapter's file. Links are looked up from there.
    """

    def __init__(self, chapter: Path) -> None:
        self._chapter = chapter
        self._values: list[str] = []

    def pieces(self, text: str) -> list[Piece]:
        """Return one cell's MyST Markdown in pieces: what holds values apart from what does not."""
        blocks = filter(None, map(self._plain, _blocks(text)))
        return [
            Piece(self._as_f_string(joined) if live else joined, live)
            for live, plain in groupby(blocks, key=lambda block: bool(_VALUE.search(block)))
            for joined in ["\n\n".join(plain)]
        ]

    def _as_f_string(self, text: str) -> str:
        doubled = text.replace("{", "{{").replace("}", "}}")
        if '"""' in doubled:
            raise self._refuse('the text with three quotes (""") and a value')
        return _VALUE.sub(lambda place: self._values[int(place[1])], doubled)

    def _plain(self, text: str) -> str:
        lines, out, position = text.splitlines(), [], 0
        for token in _PARSER.parse(text):
            if token.type not in (*_FENCES, *_KEPT_AS_WRITTEN, *_REMOVED) or not token.map:
                continue
            start, end = token.map
            out += [self._inline("\n".join(lines[position:start]))] * (start > position)
            out += self._block(token, lines[start:end])
            position = end
        out.append(self._inline("\n".join(lines[position:])))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")

    def _block(self, token: Token, lines: list[str]) -> list[str]:
        directive = _DIRECTIVE.fullmatch(token.info) if token.type in _FENCES else None
        if token.type in _REMOVED:
            return []
        if directive is None:
            return lines
        name, argument = directive.groups()
        before, opens, _ = lines[0].partition(token.markup)
        if before.strip() or not opens:
            raise self._refuse(f"the directive {{{name}}} in a line of text")
        options = _OPTIONS.match(token.content)
        body = token.content[options.end() if options else 0 :]
        found = self._directive(name, self._inline(argument), body)
        return [f"{before}{line}".rstrip() for line in found.splitlines()]

    def _directive(self, name: str, title: str, body: str) -> str:
        if name in _DROPPED:
            return ""
        if name == "code-block":
            return f"```{title}\n{body}```"
        if name == "glossary":
            return "\n".join(self._inline(entry) for entry in _glossary(body))
        if name == "constants":
            return constants_table()
        if name == "ledger":
            return _LEDGER.format(title=self._title_of(self._chapter.name))
        if name in ("symbols", "container"):
            return self._plain(body)
        if name == "dropdown":
            return f"<details><summary>{title}</summary>\n\n{self._plain(body)}\n\n</details>"
        if name == "admonition" or name in _BOXES:
            inside = f"**{title or name.capitalize()}**\n\n{self._plain(body)}"
            return "\n".join(f"> {line}".rstrip() for line in inside.splitlines())
        raise self._refuse(f"the directive {{{name}}}")

    def _inline(self, text: str) -> str:
        def turned(match: re.Match[str]) -> str:
            if match["code"]:
                return match[0]
            if match["page"]:
                title = match["text"] or self._title_of(match["page"])
                return f"[{title}]({Path(match['page']).stem}.ipynb)"
            if match["role"] != ROLE:
                raise self._refuse(f"the role {{{match['role']}}}")
            self._values.append(replacement_field(match["content"].strip()))
            return f"\x00{len(self._values) - 1}\x00"

        return _INLINE.sub(turned, text)

    def _refuse(self, what: str) -> LabError:
        return LabError(
            f"{self._chapter.name}: {what} cannot be turned into plain Markdown for the notebook. "
            "Write it another way, or teach sgemm_lab/book/plain_markdown.py."
        )

    def _title_of(self, page: str) -> str:
        path = (self._chapter.parent / page).resolve()
        if not path.is_file():
            raise self._refuse(f"the link to {page}, which is missing,")
        heading = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        return heading[1] if heading else path.stem


def _blocks(text: str) -> list[str]:
    """Cut before each outermost block that follows a blank line."""
    lines = text.splitlines()
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0]
    cuts = {start for start in starts if start and not lines[start - 1].strip()}
    return ["\n".join(lines[a:b]) for a, b in pairwise(sorted({0, *cuts, len(lines)}))]


def _glossary(body: str) -> list[str]:
    entries: list[str] = []
    for line in filter(str.strip, body.splitlines()):
        if line[0].isspace():
            entries[-1] += f" {line.strip()}"
        else:
            entries.append(f"- **{line}**:")
    return entries
