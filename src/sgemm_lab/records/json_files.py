"""The files of a kind of record: JSON of one form, one file per GPU model, written whole.

``Kind`` tells all that differs between kinds. ``RunFile`` writes a run's file after each item, so a
run that is stopped keeps what it has.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked, write_whole
from sgemm_lab.records.gpu_record import Dated, Device
from sgemm_lab.records.schema import decoded_file, encoded, json_file

_LONGEST_NAME = 80
"""Characters of a GPU's name that its file keeps."""


T = TypeVar("T")
R = TypeVar("R", bound=Dated)


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One kind of record."""

    form: type[T]
    """The dataclass that a file holds; its field ``gpu`` is a ``Device``."""
    advice: str
    """What to do about a file of another format, a sentence."""
    folder: str = ""
    """The folder of its files, within the folder of records."""
    name: str = "record file"
    """What a message calls a file."""
    what: str = "record"
    """What a message calls that which a file holds."""
    take: str = "record"
    """What makes such a file, as a message says it."""
    number: int = 1
    """The format that this version of the book reads and writes."""

    def path(self, records: Path, gpu: str) -> Path:
        """Return the file of a GPU model, in a folder of records."""
        return record_path(records / self.folder, gpu)

    def load(self, path: Path) -> T:
        """Read and check one file.

        Raises:
            LabError: it is missing, cut off, of another format, or does not fit the form.
        """
        return self._decoded(json_file(path, self.name, self.take), path)

    def load_all(self, records: Path | None = None) -> list[T]:
        """Read every file of the book, or of another folder of records, by file name.

        Raises:
            LabError: a file cannot be read.
        """
        place = (records or data_folder("records")) / self.folder
        return [self.load(path) for path in sorted(place.glob("*.json"))]

    def save(self, path: Path, record: T) -> None:
        """Write a record whole or not at all.

        Raises:
            LabError: it does not fit the form, or cannot be written.
        """
        self._decoded(self._data(record), path)
        self.save_unchecked(path, record)

    def save_unchecked(self, path: Path, record: T) -> None:
        """Write a record whatever it holds: what was measured is kept though it fits no form.

        Raises:
            LabError: the file cannot be written.
        """
        write_whole(path, _layout(self._data(record)) + "\n")

    def expect_gpu(self, path: Path, held: Device, gpu: Device) -> None:
        """Refuse to add to a file of another GPU model.

        Raises:
            LabError: the file is of another.
        """
        if held.name != gpu.name:
            raise LabError(
                f"The {self.name} {path} is of {held.name}, and this GPU is {gpu.name}. "
                "Give it another folder with --out."
            )

    def _data(self, record: T) -> dict[str, Any]:
        return {"format": self.number, **encoded(record)}

    def _decoded(self, data: Any, path: Path) -> T:
        name = f"{self.name} {path.name}"
        return decoded_file(self.form, data, self.number, name, self.what, self.advice)


class RunFile(Generic[R]):
    """A run that items are added to, one by one. The file is written whole each time."""

    def __init__(self, kind: Kind[Any], folder: Path, gpu: Device, run: R) -> None:
        """Begin a run. Nothing is written yet.

        Args:
            kind: of the record, whose form has the fields ``gpu`` and ``runs``.
            folder: the one of records.
            gpu: the GPUs' model.
            run: with nothing measured yet.

        Raises:
            LabError: the file that is there cannot be read, or is of another GPU.
        """
        self.path = kind.path(folder, gpu.name)
        self._kind, self._gpu, self.run = kind, gpu, run
        self.others()

    def put(self, **fields: Any) -> None:
        """Change fields of the run and write the file.

        Raises:
            LabError: the run does not fit the form, or the file cannot be written.
        """
        self.run = replace(self.run, **fields)
        with locked(self.path.parent):
            runs = sorted((*self.others(), self.run), key=lambda run: run.date)
            self._kind.save(self.path, self._kind.form(self._gpu, tuple(runs)))

    def others(self) -> tuple[R, ...]:
        """Return the file's other runs; none if there is no file.

        Raises:
            LabError: the file cannot be read, or is of another GPU.
        """
        if not self.path.exists():
            return ()
        found = self._kind.load(self.path)
        self._kind.expect_gpu(self.path, found.gpu, self._gpu)
        return tuple(run for run in found.runs if run.date != self.run.date)


def record_path(folder: Path, gpu: str) -> Path:
    """Return the file of a GPU model in a folder: "NVIDIA H200" is ``nvidia-h200.json``.

    A name that this way of writing would lose, such as one in other letters, adds a short hash.
    """
    name = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    lost = len(name) > _LONGEST_NAME or any(c.isalnum() and not c.isascii() for c in gpu)
    if lost or not name:
        mark = hashlib.sha256(gpu.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{name[:_LONGEST_NAME].strip('-') or 'gpu'}-{mark}"
    return folder / f"{name}.json"


_plain = json.JSONEncoder(ensure_ascii=False).encode


def _layout(value: Any, margin: str = "\n") -> str:
    """Return JSON with one line per measurement or reading, so that a diff can be read.

    An object that holds no other object stands on one line, and so does a list of plain values.
    """
    inner = margin + " "
    if isinstance(value, dict):
        items = [f"{_plain(key)}: {_layout(item, inner)}" for key, item in value.items()]
        start, end, flat = "{", "}", not any(_has_object(item) for item in value.values())
    elif isinstance(value, list):
        if value and not any(isinstance(item, (dict, list)) for item in value):
            return f"[ {_plain(value)[1:-1]} ]"
        items = [_layout(item, inner) for item in value]
        start, end, flat = "[", "]", False
    else:
        return _plain(value)
    if not items:
        return start + end
    if flat:
        return f"{start} {', '.join(items)} {end}"
    return start + inner + f",{inner}".join(items) + margin + end


def _has_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_object(item) for item in value)
    return isinstance(value, dict)
