"""Simulated counts beside those of the book's GPU, for every kernel at two sizes."""

from sgemm_lab.counting.hardware_comparison import RAGGED, REGULAR, Comparison, compare
from sgemm_lab.counting.kernel_counts import COUNTS
from sgemm_lab.cuda.counters import METRICS
from sgemm_lab.kernel import Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table


class Agreement:
    """All launches that were recorded with counters at ``regular`` and ``ragged`` sizes."""

    regular: Size = REGULAR
    ragged: Size = RAGGED

    def __init__(self) -> None:
        """Simulate all of them."""
        self._record = session.book_records()[0]
        self.launches = compare([REGULAR, RAGGED], [self._record])

    @property
    def differing(self) -> list[Comparison]:
        """The launches in which a count differs."""
        return [launch for launch in self.launches if launch.differing]

    @property
    def equal(self) -> int:
        """Launches in which every count agrees."""
        return len(self.launches) - len(self.differing)

    def counters(self) -> Output:
        """List the counts that are compared, with the names that Nsight Compute has for them."""
        rows = [
            [name.replace("_", " ").replace("ffma thread instructions", "fused multiply-adds"),
             METRICS[name]]
            for name in COUNTS
        ]  # fmt: skip
        return table(["here", "the counter of the H200"], rows, numbers=2)

    def table(self, size: Size) -> Output:
        """Set the counts of every kernel at one size beside each other."""
        dates = {run.date[:10] for run in self._record.runs if run.counters}
        rows = [
            [
                launch.kernel.replace(":", ": ").replace(",", ", "),
                f"{len(launch.gpu) - len(launch.differing)} of {len(launch.gpu)}",
                *(
                    _sum(counts, word)
                    for word in ("sectors", "wavefronts")
                    for counts in (launch.here, launch.gpu)
                ),
            ]
            for launch in self.launches
            if launch.size == size
        ]
        return table(
            ["kernel", "equal counts", "sectors, here", "H200", "wavefronts, here", "H200"],
            rows,
            note=f"Loads and stores together. Here: simulated. H200: recorded on {max(dates)}.",
        )


def _sum(counts: dict[str, int], word: str) -> str:
    return f"{sum(count for name, count in counts.items() if word in name):,}"


def agreement() -> Agreement:
    """Count every launch that the records have counters of at two sizes, and compare."""
    return Agreement()
