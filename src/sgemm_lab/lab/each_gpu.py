"""One thing for each recorded GPU, of which a page shows that of the reader's choice."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, of_gpus

Found = TypeVar("Found")


class _Shown(Protocol):
    def _repr_html_(self) -> str: ...


def by_gpu(make: Callable[[], Found]) -> list[tuple[str, Found]]:
    """Call a function once for each recorded GPU, with the record of that GPU alone.

    Returns the GPUs' names with what it returned, without those that lack a measurement.
    """
    found = []
    for gpu in session.recorded_gpus():
        with session.only(gpu):
            try:
                found.append((gpu, make()))
            except LabError:
                continue
    return found


def each_gpu(make: Callable[[], _Shown]) -> Output:
    """Show what a function returns for each recorded GPU; on a GPU, for that one.

    Raises:
        LabError: no GPU has what the function needs.
    """
    with session.measured_before():
        shown = make()
    if session.live():
        return Output(shown._repr_html_(), repr(shown))
    parts = [(gpu, one._repr_html_()) for gpu, one in by_gpu(make)]
    return Output(of_gpus(parts), repr(shown))
