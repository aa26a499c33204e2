"""JSON files of records: one file per GPU model for each kind of record.

``Kind`` describes a kind of record.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked, write_whole
from sgemm_lab.records.gpu_record import Dated, Device
from sgemm_lab.records.schema import SchemaError, decode, encode

_NAME_LIMIT = 80
"""Characters of a GPU's name in a file name."""


CHAPTERS_RECORD = "nvidia-h200.json"
"""File name of the record that the chapters quote where there is no GPU; it comes first."""

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of record."""

    cls: type[T]
    """The dataclass of a file; its field ``gpu`` is a ``Device``."""
    folder: str = ""
    """The subfolder of the folder of records."""
    noun: str = "record"
    """Content of a file, as messages name it."""
    number: int = 1
    """The format that this version of the book reads and writes."""

    def path(self, records: Path, gpu: str) -> Path:
        """Return the file of a GPU model in a folder of records."""
        return record_path(records / self.folder, gpu)

    def load(self, path: Path) -> T:
        """Read and check one file; an unchanged file is read once.

        Raises:
            LabError: the file is missing, truncated, of another format, or not a valid record.
        """
        try:
            found = path.stat()
        except OSError:
            return self._decoded(self._read(path), path)  # raises
        return cast(T, _load_once(self, path, (found.st_mtime_ns, found.st_size, found.st_ino)))

    def load_all(self, records: Path | None = None) -> list[T]:
        """Read every file in the book's folder of records, or in another one.

        The record that the chapters quote comes first, the others by file name.
        """
        paths = ((records or data_folder("records")) / self.folder).glob("*.json")
        ordered = sorted(paths, key=lambda path: (path.name != CHAPTERS_RECORD, path.name))
        return [self.load(path) for path in ordered]

    def save(self, path: Path, record: T) -> None:
        """Check a record and write it atomically."""
        data = {"format": self.number, **encode(record)}
        self._decoded(data, path)
        write_whole(path, _layout(data) + "\n")

    def runs(self, folder: Path, gpu: Device) -> tuple[Any, ...]:
        """Return the runs in a GPU's file; empty if there is no file."""
        path = self.path(folder, gpu.name)
        if not path.exists():
            return ()
        found: Any = self.load(path)
        if found.gpu.name != gpu.name:
            raise LabError(
                f"The {self.noun} file {path} is of {found.gpu.name}, and this GPU is {gpu.name}. "
                "Choose another folder with --out."
            )
        return tuple(found.runs)

    def add_run(self, folder: Path, gpu: Device, run: Dated) -> Path:
        """Add a run to a GPU's file atomically, and return the file's path.

        It replaces a run of the same date: an earlier state of it. Processes that add runs at the
        same time wait for each other.

        Raises:
            LabError: the existing file cannot be read, or is of another GPU, or the run is not
                valid, or the file cannot be written; it is not changed.
        """
        path = self.path(folder, gpu.name)
        with locked(path):
            runs = [one for one in self.runs(folder, gpu) if one.date != run.date]
            self.save(path, cast(Any, self.cls)(gpu, (*runs, run)))
        return path

    def _read(self, path: Path) -> Any:
        name = f"{self.noun} file"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LabError(f"There is no {name} {path.name}.") from None
        except OSError as error:
            raise LabError(f"The {name} {path} cannot be read: {error.strerror}.") from None
        except (ValueError, RecursionError) as error:  # JSON, UTF-8, digits, or brackets
            raise LabError(
                f"The {name} {path.name} is not complete JSON ({error}). It was truncated or "
                "edited. Restore it from version control, or remove it and measure again."
            ) from None

    def _decoded(self, data: Any, path: Path) -> T:
        name = f"{self.noun} file {path.name}"
        found = data.get("format") if isinstance(data, dict) else None
        if found != self.number or isinstance(found, bool):
            raise LabError(
                f"The {name} has format {found}; this version of the book reads format "
                f"{self.number}. Measure again, or use the version that wrote the file."
            )
        try:
            return decode(self.cls, {key: part for key, part in data.items() if key != "format"})
        except SchemaError as fault:
            raise LabError(f"The {name} is not a valid {self.noun}: {fault}.") from None


@lru_cache(maxsize=32)
def _load_once(kind: Kind[Any], path: Path, _state: tuple[int, int, int]) -> Any:
    return kind._decoded(kind._read(path), path)


def record_path(folder: Path, gpu: str) -> Path:
    """Return the file of a GPU model in a folder: "NVIDIA H200" is ``nvidia-h200.json``.

    A short hash is added to a name that this spelling truncates or that has non-ASCII letters.
    """
    name = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    lost = len(name) > _NAME_LIMIT or any(c.isalnum() and not c.isascii() for c in gpu)
    if lost or not name:
        mark = hashlib.sha256(gpu.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{name[:_NAME_LIMIT].strip('-') or 'gpu'}-{mark}"
    return folder / f"{name}.json"


def _layout(value: Any) -> str:
    """Return JSON with one line per measurement or reading, for readable diffs.

    A list of plain values takes one line, and so does an object without inner objects.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False)
    for innermost in (r"\[[^\[\]{}]*\]", r"\{[^{}]*\}"):
        text = re.sub(innermost, lambda found: re.sub(r"\n *", " ", found[0]), text)
    return text
