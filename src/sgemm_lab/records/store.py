"""Load the record files: one JSON file per GPU model in ``records/``.

A file holds runs. A run holds the samples of its kernels and of cuBLAS, and the readings of the
microbenchmarks. ``records.gpu_record`` defines the fields.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.json_files import Kind

RECORDS = Kind(Record)
load_record = RECORDS.load


def load_records(folder: Path | None = None) -> list[Record]:
    """Read every record of the book or of another folder: the chapters' record, then by name.

    Raises:
        LabError: a file cannot be read, or there is no such folder.
    """
    if folder is not None and not folder.is_dir():
        raise LabError(f"There is no folder {folder} of record files.")
    return RECORDS.load_all(folder)


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
