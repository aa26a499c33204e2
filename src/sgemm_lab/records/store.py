"""Records: what a GPU measured, with everything needed to judge the numbers.

One JSON file per GPU model in ``records/``. A file holds runs; each run holds the samples of every
kernel it measured and of cuBLAS beside them, and the readings of the microbenchmarks. A new run is
added to the file; nothing is taken out. Of several runs the latest speaks.
``record.schema.json`` is the form of a file.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder, write_whole
from sgemm_lab.kernel import Kernel
from sgemm_lab.records.data import (
    CUBLAS,
    Counters,
    Device,
    KernelSamples,
    Reading,
    Record,
    Run,
    Spread,
)

FORMAT = 1
CHAPTERS_RECORD = "nvidia-h200.json"
"""The record that the chapters quote where there is no GPU. It comes before all others."""


@dataclass(frozen=True)
class Score:
    """One kernel at one size on one GPU, beside cuBLAS in the same run. Medians."""

    kernel: str
    gpu: str
    m: int
    n: int
    k: int
    gflops: float
    cublas_gflops: float
    date: str
    fingerprint: str = field(repr=False)
    samples: tuple[float, ...] = field(repr=False)
    """GFLOP/s of every sample."""
    run: Run = field(repr=False)

    @property
    def share(self) -> float:
        """The kernel's GFLOP/s over cuBLAS's."""
        return self.gflops / self.cublas_gflops


def fingerprint(kernel: Kernel) -> str:
    """Return a short hash of a kernel's code, without its comments and white space."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", kernel.source, flags=re.S)
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:16]


def record_path(folder: Path, gpu: str) -> Path:
    """Return the file of a GPU model in a folder: "NVIDIA H200" is ``nvidia-h200.json``."""
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


def add_run(folder: Path, gpu: Device, run: Run) -> Path:
    """Add a run to the GPU's file, and return the file's path. The file is replaced whole.

    Raises:
        LabError: the file that is there cannot be read; it is left as it is.
    """
    path = record_path(folder, gpu.name)
    runs = (*load_record(path).runs, run) if path.exists() else (run,)
    save_record(path, Record(gpu, runs))
    return path


def save_record(path: Path, record: Record) -> None:
    """Write a record whole or not at all.

    Raises:
        LabError: the record does not fit the schema.
    """
    data = _plain(
        {
            "format": FORMAT,
            "gpu": asdict(record.gpu),
            "runs": [_run_data(r) for r in record.runs],
        }
    )
    _validate(data, path)
    write_whole(path, _layout(data) + "\n")


def load_record(path: Path) -> Record:
    """Read and validate one file.

    Raises:
        LabError: the file is missing, cut off, of another format, or does not fit the schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"There is no record file {path.name}.") from None
    except OSError as error:
        raise LabError(f"The record file {path} cannot be read: {error.strerror}.") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise LabError(
            f"The record file {path.name} is not complete JSON ({error}). It was cut off or "
            "edited. Take it from version control again, or remove it and record anew."
        ) from None
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise LabError(
            f"The record file {path.name} has format {found}; this version of the book reads "
            f"format {FORMAT}. Record anew, or use the version of the book that wrote it."
        )
    _validate(data, path)
    try:
        return Record(Device(**data["gpu"]), tuple(_run(run) for run in data["runs"]))
    except (KeyError, TypeError) as error:  # only where nothing could validate
        raise LabError(
            f"The record file {path.name} does not fit the form of a record ({error})."
        ) from None


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
    """Return the latest measurement of each kernel and size on each GPU, cuBLAS beside it."""
    latest: dict[tuple[str, str, int, int, int], Score] = {}
    for record in records:
        for score in _all_scores(record):
            latest[score.gpu, score.kernel, score.m, score.n, score.k] = score
    return list(latest.values())


def readings(record: Record, benchmark: str) -> dict[int, tuple[Reading, Run]]:
    """Return the latest readings of one benchmark by parameter, with the run they come from."""
    return {
        reading.parameter: (reading, run)
        for run in record.runs
        for reading in run.readings
        if reading.benchmark == benchmark
    }


def counted(record: Record) -> dict[tuple[str, int, int, int], Counters]:
    """Return the latest hardware counters by (kernel, M, N, K)."""
    return {(c.kernel, c.m, c.n, c.k): c for run in record.runs for c in run.counters}


def _all_scores(record: Record) -> Iterator[Score]:
    """Yield the scores of a GPU, earlier runs first."""
    for run in record.runs:
        sizes = {(m.m, m.n, m.k): m for m in run.measurements if m.kernel == CUBLAS}
        for samples in run.measurements:
            beside = sizes.get((samples.m, samples.n, samples.k))
            if samples.kernel == CUBLAS or beside is None:
                continue
            measurement = samples.measurement
            yield Score(
                samples.kernel, record.gpu.name, samples.m, samples.n, samples.k,
                gflops=measurement.gflops, cublas_gflops=beside.measurement.gflops,
                date=run.date, fingerprint=samples.fingerprint,
                samples=tuple(measurement.flop / s / 1e9 for s in samples.seconds), run=run,
            )  # fmt: skip


def _validate(data: Any, path: Path) -> None:
    # A bare GPU machine has only CuPy. There a file is checked by its format number and its field
    # names alone; wherever the book is built or tested, jsonschema is installed.
    if find_spec("jsonschema") is None:
        return
    import jsonschema

    schema = json.loads(Path(__file__).with_name("record.schema.json").read_text("utf-8"))
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(data)
    )
    if error is not None:
        raise LabError(
            f"The record file {path.name} does not fit the form of a record: "
            f"at {error.json_path}, {error.message}."
        )


def _run(data: dict[str, Any]) -> Run:
    fields = dict(data)
    for name in ("clock_mhz", "power_w", "temperature_c"):
        if name in fields:
            fields[name] = Spread(**fields[name])
    fields["measurements"] = tuple(
        KernelSamples(**{**m, "seconds": tuple(m["seconds"])}) for m in data["measurements"]
    )
    fields["counters"] = tuple(Counters(**c) for c in data.get("counters", []))
    fields["readings"] = tuple(
        Reading(**{**r, "samples": tuple(r["samples"])}) for r in data["readings"]
    )
    return Run(**fields)


def _run_data(run: Run) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if value is not None}


def _plain(value: Any) -> Any:
    """Return a value as JSON would read it back: with lists in place of tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _layout(value: Any, margin: str = "\n") -> str:
    """Return JSON with one line per measurement or reading, so that a diff can be read.

    An object that holds no other object stands on one line, and so does a list of plain values.
    """
    inner = margin + " "
    if isinstance(value, dict):
        items = [f"{_layout(key)}: {_layout(item, inner)}" for key, item in value.items()]
        start, end, flat = "{", "}", not any(_has_object(item) for item in value.values())
    elif isinstance(value, list):
        items = [_layout(item, inner) for item in value]
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
