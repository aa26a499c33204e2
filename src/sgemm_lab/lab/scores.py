"""The scoreboard, filled with the book's records and with what this session measured."""

from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.models.ladder import GPU
from sgemm_lab.models.scoreboard import Line, lines
from sgemm_lab.records.strassen import STRASSEN_RECORDS
from sgemm_lab.text import plural
from sgemm_lab.widgets import Scoreboard
from sgemm_lab.widgets.scoreboard import Row


def scoreboard(size: AnySize = 4096) -> Scoreboard:
    """Show every measurement of the records and of this session, to filter and to sort.

    It begins with FP32 at ``size``; where nothing was measured at that size, with all sizes.

    Raises:
        LabError: there is no record.
    """
    size = size_of(size)
    found = [_row(line, f"{line.gpu}, yours") for line in lines(session.here(), [])]
    found += [
        _row(line, line.gpu) for line in lines(session.book_records(), STRASSEN_RECORDS.load_all())
    ]
    if not found:
        raise LabError("There is no record. Take one with 'sgemm-lab record' on a GPU.")
    known = any(tuple(row["size"]) == size for row in found)
    gpus = list(dict.fromkeys(row["gpu"] for row in found))
    return Scoreboard(
        found,
        size="×".join(map(str, size)) if known else "",
        gpu=_first_gpu(gpus) if len(gpus) > 1 else "",
        arithmetic="fp32",
    )


def _first_gpu(gpus: list[str]) -> str:
    """Return the GPU whose rows are shown first: the session's own, else the ladder's."""
    return GPU if GPU in gpus and not gpus[0].endswith(", yours") else gpus[0]


def _row(line: Line, gpu: str) -> Row:
    """Return a row with as many digits as are shown: a page holds a thousand rows."""
    row: Row = {
        "kernel": f"{line.kernel}, {plural(line.levels, 'level')}" if line.levels else line.kernel,
        "gpu": gpu,
        "size": line.size,
        "gflops": float(f"{line.gflops:.6g}"),
        "date": line.date[:10],
    }
    if line.share is not None:
        row["of_cublas"] = round(line.share, 3)
    if line.arithmetic:
        row["arithmetic"] = line.arithmetic
    if line.bound_by and line.bound_gflops:
        row["bound_by"] = line.bound_by
        row["of_bound"] = round(line.gflops / line.bound_gflops, 3)
    if line.error is not None:
        row["error"] = float(f"{line.error:.2g}")
        if line.cublas_error:
            row["of_cublas_error"] = round(line.error / line.cublas_error, 3)
    return row
