"""Load and extend the record files: one JSON file per GPU model in ``records/``.

A file holds runs. A run holds the samples of its kernels and of cuBLAS, and the readings of the
microbenchmarks. New runs are appended. ``records.gpu_record`` defines the fields.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, locked
from sgemm_lab.records.gpu_record import Device, Record, Run, Score
from sgemm_lab.records.json_files import Kind, chapters_record_first

RECORDS = Kind(Record, "record")


def add_run(folder: Path, gpu: Device, run: Run, *, replacing: Run | None = None) -> Path:
    """Add a run to the GPU's file atomically, and return its path.

    A lock orders concurrent processes, so no run is lost. A run that the file already holds is not
    added again.

    Args:
        folder: of records.
        gpu: that the run was taken on.
        run: to add.
        replacing: an earlier state of the run, which the file no longer holds afterwards.

    Raises:
        LabError: the existing file cannot be read, or is of another GPU; it is not changed.
    """
    path = RECORDS.path(folder, gpu.name)
    with locked(folder):
        runs = tuple(one for one in runs_in_file(path, gpu) if one != replacing)
        RECORDS.save(path, Record(gpu, runs if run in runs else (*runs, run)))
    return path


def runs_in_file(path: Path, gpu: Device) -> tuple[Run, ...]:
    """Return the runs in a GPU's file; empty if there is no file.

    Raises:
        LabError: the file cannot be read, or is of another GPU.
    """
    if not path.exists():
        return ()
    found = load_record(path)
    RECORDS.expect_gpu(path, found.gpu, gpu)
    return found.runs


def load_record(path: Path) -> Record:
    """Read and check one file; an unchanged file is read once.

    Raises:
        LabError: the file is missing, truncated, of another format, or not a valid record.
    """
    try:
        found = path.stat()
    except OSError:
        return RECORDS.load(path)  # raises
    return _read_once(path, (found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=16)
def _read_once(path: Path, _state: tuple[int, int, int]) -> Record:
    return RECORDS.load(path)


def load_records(folder: Path | None = None) -> list[Record]:
    """Read every record of the book or of another folder: the chapters' record, then by name.

    Raises:
        LabError: a file cannot be read, or there is no such folder.
    """
    if folder is not None and not folder.is_dir():
        raise LabError(f"There is no folder {folder} of record files.")
    paths = (folder or data_folder("records")).glob("*.json")
    return [load_record(path) for path in chapters_record_first(paths)]


def scores(records: Iterable[Record]) -> list[Score]:
    """Return the latest score of each kernel and size on each GPU.

    A measurement of a book kernel whose source has changed since is omitted. Of a kernel that is
    not in the book, the latest source counts.
    """
    every = [score for record in records for score in record.scores]
    todays = {name: book_kernel(name) for name in {s.picked or s.kernel for s in every}}
    current = (
        s
        for s in every
        if (kernel := todays[s.picked or s.kernel]) is None or kernel.fingerprint == s.fingerprint
    )
    return list({(s.gpu, s.kernel, s.size): s for s in current}.values())


def not_yet_measured(names: Sequence[str], where: str = "") -> str:
    """Say which kernels have no measurement, and how to take one. ``where``: such as " at 64³"."""
    refused = "; it says so where a kernel refuses a size" if where else ""
    return (
        f"Not yet measured{where}: {', '.join(names)}. "
        f"Run 'sgemm-lab record {' '.join(names)}' on a GPU{refused}."
    )
