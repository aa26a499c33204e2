"""The files of records: one JSON file per GPU model in ``records/``.

A file holds runs; each run holds the samples of every kernel it measured and of cuBLAS beside them,
and the readings of the microbenchmarks. A new run is added to the file; nothing is taken out.
``records.data`` is the form of a file.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked, write_whole
from sgemm_lab.kernel import book_kernel
from sgemm_lab.records.data import Device, Record, Run, Score
from sgemm_lab.records.form import decoded_file, encoded

FORMAT = 1
CHAPTERS_RECORD = "nvidia-h200.json"
"""The record that the chapters quote where there is no GPU. It comes before all others."""

_LONGEST_NAME = 80
"""Characters of a GPU's name that its file keeps."""


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


def add_run(folder: Path, gpu: Device, run: Run) -> Path:
    """Add a run to the GPU's file, and return the file's path. The file is replaced whole.

    Of several processes that end together each waits for its turn, so all runs are kept. A run
    that the file holds already is not added again.

    Raises:
        LabError: the file that is there cannot be read, or is of another GPU; it is left as it is.
    """
    path = record_path(folder, gpu.name)
    with locked(folder):
        runs = check_room_for(path, gpu)
        save_record(path, Record(gpu, runs if run in runs else (*runs, run)))
    return path


def check_room_for(path: Path, gpu: Device) -> tuple[Run, ...]:
    """Return the runs that a GPU's file holds; none if there is no file.

    Raises:
        LabError: the file cannot be read, or is of another GPU.
    """
    if not path.exists():
        return ()
    found = load_record(path)
    if found.gpu.name != gpu.name:
        raise LabError(
            f"The record file {path} is of {found.gpu.name}, and this GPU is {gpu.name}. "
            "Give it another folder with --out."
        )
    return found.runs


def save_record(path: Path, record: Record) -> None:
    """Write a record whole or not at all.

    Raises:
        LabError: the record does not fit the form, or the file cannot be written.
    """
    data = {"format": FORMAT, **encoded(record)}
    _record(data, path)
    write_whole(path, layout(data) + "\n")


def save_unchecked(path: Path, record: Record) -> None:
    """Write a record whatever it holds: what was measured is kept though it fits no form.

    Raises:
        LabError: the file cannot be written.
    """
    write_whole(path, layout({"format": FORMAT, **encoded(record)}) + "\n")


def load_record(path: Path) -> Record:
    """Read and check one file, or return what was read of it if it has not changed since.

    Raises:
        LabError: the file is missing, cut off, of another format, or does not fit the form.
    """
    try:
        found = path.stat()
    except OSError:
        return _read(path)  # says what is wrong
    return _read_once(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=16)
def _read_once(path: Path, _state: tuple[int, int, int]) -> Record:
    return _read(path)


def _read(path: Path) -> Record:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"There is no record file {path.name}.") from None
    except OSError as error:
        raise LabError(f"The record file {path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise LabError(
            f"The record file {path.name} nests brackets deeper than any record. "
            "Take it from version control again, or remove it and record anew."
        ) from None
    except ValueError as error:  # JSON, UTF-8, or a number of thousands of digits
        raise LabError(
            f"The record file {path.name} is not complete JSON ({error}). It was cut off or "
            "edited. Take it from version control again, or remove it and record anew."
        ) from None
    return _record(data, path)


def load_records(folder: Path | None = None) -> list[Record]:
    """Read every record of the book, or of another folder: the chapters' own, then by file name.

    Raises:
        LabError: a file cannot be read, or there is no such folder.
    """
    if folder is not None and not folder.is_dir():
        raise LabError(f"There is no folder {folder} of record files.")
    paths = (folder or data_folder("records")).glob("*.json")
    return [
        load_record(path) for path in sorted(paths, key=lambda p: (p.name != CHAPTERS_RECORD, p))
    ]


def scores(records: Iterable[Record]) -> list[Score]:
    """Return the latest score of each kernel and size on each GPU.

    A measurement under the name of a kernel of the book, but of other code, is no score of it.
    """
    every = [score for record in records for score in record.scores]
    todays = {name: book_kernel(name) for name in {s.picked or s.kernel for s in every}}
    return [
        s
        for s in every
        if (kernel := todays[s.picked or s.kernel]) is None or kernel.fingerprint == s.fingerprint
    ]


def not_yet_measured(names: Sequence[str], where: str = "") -> str:
    """Say that kernels have no measurement, and what to do. ``where`` is such as " at 64³"."""
    refused = "; it says so where a kernel refuses a size" if where else ""
    return (
        f"Not yet measured{where}: {', '.join(names)}. "
        f"Run 'sgemm-lab record {' '.join(names)}' on a GPU{refused}."
    )


def _record(data: Any, path: Path) -> Record:
    """Return the record that a file's data tell.

    Raises:
        LabError: the data are of another format, or do not fit the form.
    """
    return decoded_file(
        Record, data, FORMAT, f"record file {path.name}", "record",
        "Record anew, or use the version of the book that wrote it.",
    )  # fmt: skip


def layout(value: Any, margin: str = "\n") -> str:
    """Return JSON with one line per measurement or reading, so that a diff can be read.

    An object that holds no other object stands on one line, and so does a list of plain values.
    """
    inner = margin + " "
    if isinstance(value, dict):
        items = [f"{layout(key)}: {layout(item, inner)}" for key, item in value.items()]
        start, end, flat = "{", "}", not any(_has_object(item) for item in value.values())
    elif isinstance(value, list):
        items = [layout(item, inner) for item in value]
        start, end, flat = "[", "]", not any(isinstance(item, (dict, list)) for item in value)
    else:
        return json.dumps(value, ensure_ascii=False)
    if not items:
        return start + end
    if flat:
        return f"{start} {', '.join(items)} {end}"
    return start + inner + f",{inner}".join(items) + margin + end


def _has_object(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_object(item) for item in value)
    return isinstance(value, dict)
