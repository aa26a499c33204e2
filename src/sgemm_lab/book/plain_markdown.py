"""MyST Markdown turned into the Markdown that Jupyter and Colab show.

Only what is listed here is understood. Anything else stops with a sentence, so that no directive
ever reaches a reader as raw text.
"""

import base64
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from sgemm_lab.book.glossary import constants_table
from sgemm_lab.book.inline_values import ROLE, replacement_field
from sgemm_lab.errors import LabError

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?\s*(?P<rest>.*)$"
)
_DIRECTIVE = re.compile(r"^\W*(?:`{3,}|~{3,}|:{3,})\{(?P<name>[\w:-]+)\}", re.MULTILINE)
_VALUE = re.compile("\x00(\\d+)\x00")
"""Holds the place of a value, by its number, while Markdown is turned."""
_OPTION = re.compile(r"^:(?P<name>[\w-]+):\s*(?P<value>.*)$")
_TARGET = re.compile(r"^\((?P<label>[^)\s]+)\)=\s*$")
_LABELLED_HEADING = re.compile(r"^\(([^)\s]+)\)=\s*\n+#+ (.+)$", re.MULTILINE)
_TITLED_TARGET = re.compile(r"^(?P<title>.*?)\s*<(?P<target>[^>]+)>$", re.DOTALL)
_EQUATION_LABEL = re.compile(r"^\$\$\s*\((?P<label>[\w:-]+)\)\s*$")
_INLINE = re.compile(
    r"\{(?P<role>[\w:-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)"
    r"|(?P<code>(?<!`)(?P<fence>`+)(?!`).+?(?<!`)(?P=fence)(?!`))"
    r"|(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL,
)

_ADMONITIONS = {
    "note", "tip", "hint", "warning", "caution", "attention", "danger", "error", "important",
    "seealso",
}  # fmt: skip
_TITLES = {"seealso": "See also"}
_CODE = {"code-block", "code", "sourcecode"}
_PASSED_THROUGH = {"div", "container", "margin", "grid", "grid-item", "tab-set", "table", "symbols"}
_TITLED = {"tab-item", "card", "grid-item-card", "topic", "sidebar"}
_DROPPED = {"tableofcontents", "contents", "toctree", "index", "panel", "reader-card"}
_WRAPPING_ROLES = {
    "math": ("$", "$"),
    "sub": ("<sub>", "</sub>"),
    "sup": ("<sup>", "</sup>"),
    "kbd": ("<kbd>", "</kbd>"),
    "code": ("`", "`"),
}

_LEDGER = (
    "The list is made when the book is built, from the verdicts of all chapters. "
    "Read it on the page “{title}” of the book."
)


@dataclass(frozen=True)
class Piece:
    """A piece of a cell's Markdown: plain text, or an f-string where it holds values."""

    text: str
    live: bool
    """Whether the text is the inside of a raw f-string, ``rf\"\"\"…\"\"\"``."""


class Converter:
    """Turns the Markdown cells of one chapter, in order.

    Args:
        chapter: the chapter's file. Links and pictures are looked up from there.
        figures: the names of the chapter's figures and their numbers.
    """

    def __init__(self, chapter: Path, figures: Mapping[str, int]) -> None:
        self._chapter = chapter
        self._figures = figures
        self._equations: dict[str, int] = {}
        self._values: list[str] = []

    def convert(self, text: str) -> str:
        """Return MyST Markdown without values as plain Markdown.

        Raises:
            LabError: it holds something that is not understood, or a value.
        """
        plain = self._plain(text.splitlines()).strip()
        if _VALUE.search(plain):
            raise self._refuse(f"the value in “{text}”")
        return plain

    def pieces(self, text: str) -> list[Piece]:
        """Return one cell's MyST Markdown in pieces: what holds values apart from what does not.

        Raises:
            LabError: it holds something that is not understood.
        """
        chunks = filter(None, map(self._plain, _chunks(text.splitlines())))
        return [
            Piece(self._as_f_string(joined) if live else joined, live)
            for live, plain in groupby(chunks, key=lambda chunk: bool(_VALUE.search(chunk)))
            for joined in ["\n\n".join(plain)]
        ]

    def _plain(self, lines: list[str]) -> str:
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._blocks(lines))).strip("\n")

    def _as_f_string(self, text: str) -> str:
        doubled = text.replace("{", "{{").replace("}", "}}")
        if '"""' in doubled:
            raise self._refuse('the text with three quotes (""") and a value')
        return _VALUE.sub(lambda place: self._values[int(place[1])], doubled)

    def _blocks(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        prose: list[str] = []

        def flush() -> None:
            if prose:
                out.extend(self._inline("\n".join(prose)).split("\n"))
                prose.clear()

        position = 0
        while position < len(lines):
            line = lines[position]
            fence = _FENCE.match(line)
            if fence:
                end = _end_of_fence(lines, position, fence)
                flush()
                indent = fence["indent"]
                body = [inside.removeprefix(indent) for inside in lines[position + 1 : end]]
                turned = self._fenced(fence, body, line.removeprefix(indent))
                out.extend(f"{indent}{inside}" if inside else "" for inside in turned)
                position = end
            elif line.startswith("%") or _TARGET.match(line):
                flush()
            elif line.strip().startswith("$$"):
                end = _end_of_math(lines, position)
                flush()
                out.extend(self._display_math(lines[position : end + 1]))
                position = end
            else:
                prose.append(line)
            position += 1
        flush()
        return out

    def _fenced(self, fence: re.Match[str], body: list[str], opening: str) -> list[str]:
        name, rest = fence["name"], fence["rest"].strip()
        if name is None:
            if fence["fence"][0] == ":":
                return self._blocks(body)
            return [opening, *body, fence["fence"]]
        options, body = _options(body)
        if name in _DROPPED:
            return []
        if name in _CODE:
            return [f"```{rest}", *body, "```"]
        if name == "math":
            return self._display_math(["$$", *body, f"$$ ({options.get('label', '')})"])
        if name in ("figure", "image"):
            return self._figure(rest, options, body)
        if name == "glossary":
            return self._glossary(body)
        if name == "constants":
            return constants_table().splitlines()
        if name == "ledger":
            title = self._title_of(self._chapter.name)
            return [_LEDGER.format(title=title)]
        return self._container(name, rest, options, body)

    def _container(
        self, name: str, rest: str, options: dict[str, str], body: list[str]
    ) -> list[str]:
        title = self._inline(rest)
        inside = self._blocks(body)
        if name == "dropdown" or "dropdown" in options.get("class", ""):
            return [f"<details><summary>{title}</summary>", "", *inside, "", "</details>"]
        if name == "admonition":
            return _box(title, inside)
        if name in _ADMONITIONS:
            text = [rest, *inside] if rest else inside
            return _box(_TITLES.get(name, name.capitalize()), text)
        if name in _TITLED:
            return [f"**{title}**", "", *inside] if title else inside
        if name in _PASSED_THROUGH:
            return inside
        raise self._refuse(f"the directive {{{name}}}")

    def _figure(self, source: str, options: dict[str, str], caption: list[str]) -> list[str]:
        path = self._chapter.parent / source
        if not path.is_file():
            raise self._refuse(f"the picture {source}, which is missing,")
        kind = mimetypes.guess_type(path.name)[0] or "image/png"
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        text = self._inline(" ".join(line.strip() for line in caption).strip())
        alt = options.get("alt", "").replace("]", "")
        return [f"![{alt}](data:{kind};base64,{data})", "", *([f"*{text}*"] if text else [])]

    def _glossary(self, body: list[str]) -> list[str]:
        entries: list[list[str]] = []
        for line in filter(str.strip, body):
            if line[0].isspace():
                entries[-1].append(line.strip())
            else:
                entries.append([f"- **{line}**:"])
        return [self._inline(" ".join(entry)) for entry in entries]

    def _display_math(self, lines: list[str]) -> list[str]:
        label = _EQUATION_LABEL.match(lines[-1])
        if not label:
            return [*lines[:-1], "$$" if lines[-1].startswith("$$ (") else lines[-1]]
        number = self._equations.setdefault(label["label"], len(self._equations) + 1)
        return [*lines[:-1], rf"\tag{{{number}}}", "$$"]

    def _inline(self, text: str) -> str:
        if left := _DIRECTIVE.search(text):
            raise self._refuse(f"the directive {{{left['name']}}} in a line of text")

        def turned(match: re.Match[str]) -> str:
            if match["role"]:
                return self._role(match["role"], match["content"].strip())
            if match["code"]:
                return match[0]
            return self._link(match[0], match["text"], match["target"])

        return _INLINE.sub(turned, text)

    def _link(self, whole: str, text: str, target: str) -> str:
        if "://" in target or target.startswith("mailto:"):
            return whole
        page, _, anchor = target.partition("#")
        if not page:
            return text or self._name_of(anchor)
        if not page.endswith(".md"):
            return whole if text else page
        return f"[{text or self._title_of(page)}]({Path(page).stem}.ipynb)"

    def _role(self, name: str, text: str) -> str:
        if name == ROLE:
            self._values.append(replacement_field(text))
            return f"\x00{len(self._values) - 1}\x00"
        if name in _WRAPPING_ROLES:
            before, after = _WRAPPING_ROLES[name]
            return f"{before}{text}{after}"
        titled = _TITLED_TARGET.match(text)
        title, target = (titled["title"], titled["target"]) if titled else ("", text)
        if name == "doc":
            return f"[{title or self._title_of(f'{target}.md')}]({Path(target).stem}.ipynb)"
        if name == "eq":
            if target not in self._equations:
                raise self._refuse(f"the equation {target}, named before it is written,")
            return f"({self._equations[target]})"
        if name in ("ref", "numref", "any"):
            return title or self._name_of(target)
        if name in ("term", "abbr"):
            return title or target
        raise self._refuse(f"the role {{{name}}}")

    def _name_of(self, label: str) -> str:
        if label in self._figures:
            return f"Fig. {self._figures[label]}"
        for page in sorted(self._chapter.parent.glob("*.md")):
            headings = dict(_LABELLED_HEADING.findall(page.read_text(encoding="utf-8")))
            if label in headings:
                return f"“{headings[label]}”"
        raise self._refuse(f"the reference to {label}, which names no figure and no heading,")

    def _refuse(self, what: str) -> LabError:
        return LabError(
            f"{self._chapter.name}: {what} cannot be turned into plain Markdown for the notebook. "
            "Write it another way, or teach sgemm_lab/book/plain_markdown.py."
        )

    def _title_of(self, page: str) -> str:
        path = (self._chapter.parent / page).resolve()
        if not path.is_file():
            raise self._refuse(f"the link to {page}, which is missing,")
        headings = re.findall(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        return str(headings[0]) if headings else path.stem


def _chunks(lines: list[str]) -> Iterator[list[str]]:
    """Cut at blank lines, but not within a fence, a formula or an item of a list."""
    chunk: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        end = position
        if fence := _FENCE.match(line):
            end = _end_of_fence(lines, position, fence)
        elif line.strip().startswith("$$"):
            end = _end_of_math(lines, position)
        if not line.strip() and not "".join(lines[position + 1 : position + 2]).startswith(" "):
            yield chunk
            chunk = []
        chunk += lines[position : end + 1]
        position = end + 1
    yield chunk


def _end_of_fence(lines: list[str], start: int, opening: re.Match[str]) -> int:
    fence = opening["fence"]
    closing = re.compile(rf"^\s*{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    for number in range(start + 1, len(lines)):
        if closing.match(lines[number]):
            return number
    return len(lines)


def _end_of_math(lines: list[str], start: int) -> int:
    if lines[start].strip() != "$$":
        return start
    for number in range(start + 1, len(lines)):
        if lines[number].strip().startswith("$$"):
            return number
    return len(lines) - 1


def _options(body: list[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    for number, line in enumerate(body):
        option = _OPTION.match(line)
        if not option:
            return options, body[number:]
        options[option["name"]] = option["value"]
    return options, []


def _box(title: str, inside: list[str]) -> list[str]:
    text = "\n".join(inside).strip().split("\n")
    return [f"> **{title}**", ">", *(f"> {line}".rstrip() for line in text)]
