"""The groups of the golden corpus, and the file of each."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import golden_book as book
import golden_checks as checks
import golden_hazards as hazards
import golden_instructions as instructions
import golden_other as other
from golden_launch import Case, Runnable
from golden_record import Record

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Group:
    """Launches of one kind."""

    name: str
    launches: Callable[[], Iterable[Runnable]]

    @property
    def path(self) -> Path:
        """The file of its golden results."""
        return RESULTS / f"{self.name}.json"

    def cases(self) -> dict[str, Runnable]:
        """Its launches by name. No two have one name."""
        cases = list(self.launches())
        by_name = {case.name: case for case in cases}
        assert len(by_name) == len(cases), f"Two launches of '{self.name}' have one name."
        return by_name

    def golden(self) -> dict[str, Record]:
        """Its golden results by name; none before they are written."""
        if not self.path.exists():
            return {}
        records: dict[str, Record] = json.loads(self.path.read_text(encoding="utf-8"))
        return records


def _drawn() -> Iterator[Case]:
    return chain.from_iterable(
        hazards.drawn_cases(*how) for how in product((False, True), (False, True))
    )


GROUPS = {
    group.name: group
    for group in (
        Group("book_ragged", lambda: book.of_every_kernel(book.RAGGED)),
        Group("book_aligned", lambda: book.of_every_kernel(book.ALIGNED)),
        Group("clusters", book.of_clusters),
        Group("orders", book.of_orders),
        Group("traces", book.of_traces),
        Group("wrong_kernels", book.of_wrong_kernels),
        Group("targets", hazards.of_targets),
        Group("barriers", hazards.all_small_cases),
        Group("meetings", hazards.meeting_cases),
        Group("drawn_accesses", _drawn),
        Group("write_conflicts", other.of_write_conflicts),
        Group("uninitialized_values", other.of_uninitialized_values),
        Group("instructions", instructions.of_instructions),
        Group("rounding", other.of_rounding),
        Group("tensor_cores", instructions.of_tensor_cores),
        Group("request_patterns", instructions.of_patterns),
        Group("hardware_requests", other.of_hardware_requests),
        Group("refusals", instructions.of_faults),
        Group("step_traces", checks.of_step_traces),
        Group("verdicts", checks.of_verdicts),
        Group("measured_approximations", other.of_measured_approximations),
        Group("modules", other.of_modules),
        Group("images", other.of_images),
        Group("foreign_kernels", other.of_foreign_kernels),
    )
}
