"""Reduce a CUDA file and its headers to the part that a kernel needs.

The part consists of the kernel and all declarations that it uses, directly or not. Host code,
``main`` and headers of host code are removed. Removed lines stay empty, so that messages and counts
have the file's line numbers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.declarations import Declaration, declarations_of
from sgemm_lab.external_cuda.headers import filled, is_cudas
from sgemm_lab.external_cuda.tokens import Token, tokens_of
from sgemm_lab.files import read_source

_INCLUDE = re.compile(r'#\s*include\s*(?:<([^>\n]+)>|"([^"\n]+)")')
_DEFINE = re.compile(r"#\s*define\s+(\w+)(.*)", re.S)
_WORD = re.compile(r"[^\W\d]\w*")
_HOST_WORDS = re.compile(
    r"(?:cuda(?:Malloc|Free|Memcpy|Memset|Event|Stream|Device|Get|Set|Error|Check|Func)|cublas|cudnn|"
    r"cufft|curandGen|cusparse|torch|PYBIND|nccl|MPI_)\w*"
)
_HEADER_FOLDERS = ("include", "inc", "common", "Common", "utils", "src")
"""Usual header folders, next to a file or above it."""

MOST_HEADERS = 200
"""Most headers that are read, including nested ones."""


@dataclass(frozen=True)
class SourceFile:
    """A file, or a header that it includes."""

    name: str
    """Name in the ``#include``; the file's own name for the file itself."""
    path: Path
    text: str
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True)
class Sources:
    """A file and its project's headers."""

    files: tuple[SourceFile, ...]
    """The file, then its headers."""
    fills: Mapping[str, str]
    """Replacement texts of headers, by name."""
    cuda: tuple[str, ...]
    """Included headers of CUDA."""
    absent: tuple[tuple[str, int, str], ...]
    """Headers that were not found: including file, line, name."""

    @property
    def kernels(self) -> list[Declaration]:
        """The kernels, those of the file first; declarations only where there is no definition."""
        found = [d for file in self.files for d in file.declarations if d.is_kernel]
        bodies = {name for d in found if d.has_body for name in d.names}
        return [d for d in found if d.has_body or not d.names & bodies]

    def line_of(self, declaration: Declaration, token: Token) -> int:
        """Return the 1-based line of a token in its file."""
        file = next(f for f in self.files if any(d is declaration for d in f.declarations))
        return file.text.count("\n", 0, token.start) + 1


@dataclass(frozen=True)
class DevicePart:
    """The text to compile, and what was removed."""

    text: str
    headers: Mapping[str, str]
    """Header texts by name."""
    left_out: tuple[str, ...]
    """Names of the host functions that were removed from the file, in order."""
    absent: tuple[tuple[str, int, str], ...] = ()
    fallback: str = field(default="")
    """Why host code could not be removed; "" if it was."""


def read_sources(text: str, path: Path, folders: Sequence[Path] = ()) -> Sources:
    """Read a file and all headers that are found next to it or in ``folders``.

    Raises:
        UnevenError: brackets do not match.
        LabError: a header cannot be read.
    """
    files: dict[str, SourceFile] = {}
    fills: dict[str, str] = {}
    cuda: dict[str, None] = {}
    absent: list[tuple[str, int, str]] = []
    waiting = [(path.name, path, text)]
    while waiting:
        name, where, content = waiting.pop(0)
        if name in files:
            continue
        if len(files) > MOST_HEADERS:
            raise LabError(f"{path.name} includes more than {MOST_HEADERS} headers of its own.")
        file = SourceFile(name, where, content, tuple(declarations_of(content)))
        files[name] = file
        for line, included, quoted in _includes(content):
            own = _found(included, [*_near(where.parent), *_near(path.parent), *folders], quoted)
            fill = None if own else filled(included)
            if own:
                waiting.append((included, own, read_source(own)))
            elif fill is not None:
                fills[included] = fill
            elif is_cudas(included):
                cuda[included] = None
            else:
                absent.append((name, line, included))
    return Sources(tuple(files.values()), fills, tuple(cuda), tuple(absent))


def _includes(text: str) -> Iterable[tuple[int, str, bool]]:
    for token in tokens_of(text):
        match = _INCLUDE.match(token.text) if token.kind == "directive" else None
        if match:
            line = text.count("\n", 0, token.start) + 1
            yield line, match[1] or match[2], match[2] is not None


def _near(folder: Path) -> list[Path]:
    """The usual header folders of the project that a file belongs to."""
    ups = [folder, folder / "..", folder / "../..", folder / "../../.."]
    return [up / name for up in ups for name in ("", *_HEADER_FOLDERS)]


def _found(name: str, folders: Iterable[Path], quoted: bool) -> Path | None:
    if not quoted and (filled(name) is not None or is_cudas(name)):
        return None
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            return candidate
    return None


def device_part(sources: Sources, roots: Sequence[Declaration]) -> DevicePart:
    """Return what ``roots`` need of the sources."""
    kept = _closure(sources, roots)
    texts = {file.name: _without(file, kept, sources) for file in sources.files}
    main = sources.files[0]
    left_out = [
        name
        for d in main.declarations
        if d.kind == "function" and d.has_body and id(d) not in kept
        if not d.marks & {"__global__", "__device__"}
        for name in sorted(d.names)
    ]
    headers = {**sources.fills, **texts}
    del headers[main.name]
    return DevicePart(texts[main.name], headers, tuple(dict.fromkeys(left_out)), sources.absent)


def _closure(sources: Sources, roots: Sequence[Declaration]) -> set[int]:
    """Return the declarations that the kernel needs, by identity."""
    every = [d for file in sources.files for d in file.declarations]
    by_name: dict[str, list[Declaration]] = {}
    macros: dict[str, set[str]] = {}
    for d in every:
        for name in d.names:
            by_name.setdefault(name, []).append(d)
        define = _DEFINE.match(d.tokens[0].text) if d.kind == "directive" else None
        if define:
            macros.setdefault(define[1], set()).update(_WORD.findall(define[2]))
    kept: set[int] = set()
    seen: set[str] = set()
    waiting: list[Declaration] = [*roots, *(d for d in every if _always(d, macros))]
    while waiting:
        d = waiting.pop()
        if id(d) in kept:
            continue
        kept.add(id(d))
        words = set(d.words)
        while words:
            word = words.pop()
            if word in seen:
                continue
            seen.add(word)
            words |= macros.get(word, set())
            waiting += [found for found in by_name.get(word, ()) if _may_stay(found, roots)]
    _add_assertions(every, kept, by_name)
    return kept


def _always(d: Declaration, macros: Mapping[str, set[str]]) -> bool:
    """Return whether a declaration is needed even if nothing names it."""
    if d.kind == "function":
        return "operator" in d.names and "__device__" in d.marks
    if d.kind == "using":
        return not d.names and len(d.tokens) > 1 and d.tokens[1].text == "namespace"
    makes = macros.get(d.tokens[0].text, set())  # the call of a macro that writes a kernel
    return d.kind == "other" and bool({"__global__", "__device__"} & makes)


def _may_stay(d: Declaration, roots: Sequence[Declaration]) -> bool:
    """Return whether a named declaration is device code."""
    if d.kind != "function":
        return True
    if d.is_kernel:
        return any(d.names & root.names for root in roots)
    if d.marks:
        return d.marks != {"__host__"}
    return not (d.names == {"main"} or is_host_code(d))


def is_host_code(d: Declaration) -> bool:
    """Return whether a function launches kernels or calls host functions."""
    if "__device__" in d.marks:
        return False
    return any(t.text == "<<<" or _HOST_WORDS.fullmatch(t.text) for t in d.tokens)


def _add_assertions(
    every: Sequence[Declaration], kept: set[int], by_name: Mapping[str, list[Declaration]]
) -> None:
    """Add the static assertions whose names are all needed."""
    for d in every:
        if d.tokens[0].text == "static_assert":
            named = [found for word in d.words for found in by_name.get(word, ())]
            if all(id(found) in kept for found in named):
                kept.add(id(d))


def _without(file: SourceFile, kept: set[int], sources: Sources) -> str:
    """Blank what is not needed in the text of a file; line numbers stay."""
    pieces, place = [], 0
    gone = {included for _, _, included in sources.absent}
    for d in file.declarations:
        pieces.append(file.text[place : d.start])
        text = file.text[d.start : d.end]
        include = _INCLUDE.match(text) if d.kind == "directive" else None
        if include and (include[1] or include[2]) in gone:
            text = _blank(text)
        elif d.kind in ("directive", "open", "close") or id(d) in kept:
            text = _announced(d, text)
        else:
            text = _blank_but_directives(d, text)
        pieces.append(text)
        place = d.end
    return "".join((*pieces, file.text[place:]))


def _announced(d: Declaration, text: str) -> str:
    """Declare the namespace of a using-directive, as its header may be missing."""
    if d.kind == "using" and not d.names and d.tokens[1].text == "namespace":
        name = "".join(token.text for token in d.tokens[2:-1])
        return f"namespace {name} {{}} {text}"
    return text


def _blank(text: str) -> str:
    return "".join(letter if letter in "\r\n" else " " for letter in text)


def _blank_but_directives(d: Declaration, text: str) -> str:
    """Blank a declaration except for #if, #endif and #define."""
    pieces, place = [], d.start
    for token in d.tokens:
        if token.kind == "directive" and not re.match(r"#\s*(pragma|include|error)", token.text):
            pieces.append(_blank(text[place - d.start : token.start - d.start]) + token.text)
            place = token.end
    return "".join((*pieces, _blank(text[place - d.start :])))
