"""Remove results from the record files that later runs have measured again.

``python -m sgemm_lab.records.pruning`` rewrites the files of ``records/``. The history of the
repository has what it removes.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sgemm_lab.catalogue import book_kernel
from sgemm_lab.files import data_folder
from sgemm_lab.records.gpu_record import CUBLAS_MODES, Record, Run
from sgemm_lab.records.store import RECORDS, load_record

_LIBRARY = frozenset(CUBLAS_MODES.values())

Results = Callable[[Run], Iterable[Any]]


def pruned(record: Record) -> Record:
    """Return a record without superseded results; runs that become empty are left out.

    A result stays if it is the latest of its kind: the time of a source at a size, the time of a
    kernel's name at a size, a microbenchmark at a parameter, the counters of a source at a size,
    the error of a source for inputs and K. Of a book kernel, sources before the current one do not
    count. A time of cuBLAS also stays if its run has another product at its size, because shares
    are taken within a run.
    """
    dated = sorted(record.runs, key=lambda run: run.date)
    stays = {
        *_latest(record.runs, _timed, lambda m: (m.kernel, m.picked or m.fingerprint, m.size)),
        *_latest(record.runs, _timed, lambda m: (m.kernel, m.picked is None, m.size)),
        *_latest(dated, lambda run: run.measurements, lambda m: (m.kernel, m.size)),
        *_latest(record.runs, lambda run: run.readings, lambda r: (r.benchmark, r.parameter)),
        *_latest(record.runs, _counted, lambda c: (c.kernel, c.fingerprint, c.size)),
        *_latest(record.runs, _errors, lambda a: (a.kernel, a.fingerprint, a.inputs, a.k)),
    }
    runs = (_with(run, stays) for run in record.runs)
    nonempty = (
        run for run in runs if run.measurements or run.readings or run.counters or run.accuracies
    )
    return replace(record, runs=tuple(nonempty))


def _latest(runs: Sequence[Run], results: Results, key: Callable[[Any], Hashable]) -> Iterable[int]:
    """Return the ``id`` of the latest result of each key."""
    return {key(one): id(one) for run in runs for one in results(run)}.values()


def _timed(run: Run) -> Iterable[Any]:
    return (m for m in run.measurements if m.kernel not in _LIBRARY and _is_current(m))


def _counted(run: Run) -> Iterable[Any]:
    return filter(_is_current, run.counters)


def _errors(run: Run) -> Iterable[Any]:
    return run.accuracies or ()


def _is_current(result: Any) -> bool:
    kernel = book_kernel(getattr(result, "picked", None) or result.kernel)
    return kernel is None or kernel.fingerprint == result.fingerprint


def _with(run: Run, stays: set[int]) -> Run:
    """Return a run with the results that stay."""
    sizes = {m.size for m in run.measurements if id(m) in stays and m.kernel not in _LIBRARY}
    return replace(
        run,
        measurements=tuple(
            m
            for m in run.measurements
            if id(m) in stays or (m.kernel in _LIBRARY and m.size in sizes)
        ),
        readings=tuple(one for one in run.readings if id(one) in stays),
        counters=tuple(one for one in run.counters if id(one) in stays),
        accuracies=tuple(one for one in run.accuracies or () if id(one) in stays) or None,
    )


def main() -> None:
    """Prune every record file, and print what remains."""
    for path in sorted(data_folder("records").glob("*.json")):
        record = load_record(path)
        rest = pruned(record)
        RECORDS.save(path, rest)
        print(f"{path.name}: {len(rest.runs)} of {len(record.runs)} runs remain.")


if __name__ == "__main__":
    main()
