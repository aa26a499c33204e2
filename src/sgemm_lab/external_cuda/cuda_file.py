"""A CUDA file with its headers, and what Node reads in it: see ``python_requests.ts``.

The TypeScript of this folder reads the file, for Python as for the page "Your own kernel".
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.headers import filled, is_cudas
from sgemm_lab.files import read_source
from sgemm_lab.simulator import worker

_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.M)
_HEADER_FOLDERS = ("", "include", "inc", "common", "Common", "utils", "src")
"""Usual header folders, next to a file or above it."""

MOST_HEADERS = 200
"""Most headers that are read, including nested ones."""


@dataclass(frozen=True)
class Pasted:
    """The text of a CUDA file, and which of its kernels to compile."""

    name: str
    """File name in messages."""
    text: str
    folder: Path
    """The file's folder, searched for headers."""
    entry: str | None = None
    """The kernel: a name, part of one, or a template with its arguments, such as "tiled<16>"."""
    folders: tuple[Path, ...] = ()
    """Further header folders."""
    defines: Mapping[str, str] = field(default_factory=dict)
    """Macros: name to value."""


@dataclass(frozen=True)
class Sources:
    """A file and its project's headers."""

    texts: Mapping[str, str]
    """The file, then its headers, by the name in the ``#include``."""
    fills: Mapping[str, str]
    """Replacement texts of headers, by name."""
    cuda: tuple[str, ...]
    """Included headers of CUDA."""
    absent: tuple[str, ...]
    """Headers that were not found."""
    defines: Mapping[str, str]

    @property
    def given(self) -> dict[str, Any]:
        """The file as ``python_requests.ts`` takes it."""
        files = [{"name": name, "text": text} for name, text in self.texts.items()]
        return {"files": files, "defines": self.defines}

    def ask(self, task: str, entry: str | None = None, **given: Any) -> Any:
        """Ask Node about the kernel that an entry means."""
        return worker.ask(task, {**self.given, "entry": entry, **given})


def read_sources(pasted: Pasted) -> Sources:
    """Read a file and all headers that are found next to it or in its folders."""
    texts: dict[str, str] = {}
    fills: dict[str, str] = {}
    cuda: dict[str, None] = {}
    absent: dict[str, None] = {}
    waiting = [(pasted.name, pasted.folder, pasted.text)]
    while waiting:
        name, folder, text = waiting.pop(0)
        if name in texts:
            continue
        if len(texts) > MOST_HEADERS:
            raise LabError(f"{pasted.name} includes more than {MOST_HEADERS} headers of its own.")
        texts[name] = text
        for included, quoted in _includes(text):
            folders = [*_near(folder), *_near(pasted.folder), *pasted.folders]
            own = _found(included, folders, quoted)
            fill = None if own else filled(included)
            if own:
                waiting.append((included, own.parent, read_source(own)))
            elif fill is not None:
                fills[included] = fill
            else:
                (cuda if is_cudas(included) else absent)[included] = None
    return Sources(texts, fills, tuple(cuda), tuple(absent), pasted.defines)


def _includes(text: str) -> Iterator[tuple[str, bool]]:
    for match in _INCLUDE.finditer(_COMMENT.sub(" ", text)):
        yield match[1] or match[2], match[2] is not None


def _near(folder: Path) -> list[Path]:
    """The usual header folders of the project that a file belongs to."""
    ups = [folder, folder / "..", folder / "../..", folder / "../../.."]
    return [up / name for up in ups for name in _HEADER_FOLDERS]


def _found(name: str, folders: Iterable[Path], quoted: bool) -> Path | None:
    if not quoted and (filled(name) is not None or is_cudas(name)):
        return None
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def own_kernels(sources: Sources) -> Sequence[Mapping[str, Any]]:
    """Return name and line of each kernel that the file itself defines."""
    found: Sequence[Mapping[str, Any]] = sources.ask("own_kernels")
    return found
