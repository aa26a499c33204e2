"""The golden corpus of the simulator, and what writes it.

make golden                        results of launches that are new or have changed
make golden GROUPS="traces" ALL=1  all results of some groups, after a wanted change
"""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import golden_book as book
import golden_hazards as hazards
from golden_launch import Case, Record, record_of, text_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Group:
    """Launches of one kind."""

    name: str
    launches: Callable[[], Iterable[Case]]

    @property
    def path(self) -> Path:
        """The file of its golden results."""
        return RESULTS / f"{self.name}.json"

    def cases(self) -> dict[str, Case]:
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


GROUPS = {
    group.name: group
    for group in (
        Group("book_ragged", lambda: book.of_every_kernel(book.RAGGED)),
        Group("book_aligned", lambda: book.of_every_kernel(book.ALIGNED)),
        Group("orders", book.of_orders),
        Group("traces", book.of_traces),
        Group("wrong_kernels", book.of_wrong_kernels),
        Group("barriers", hazards.all_small_cases),
        Group("meetings", hazards.meeting_cases),
        Group("drawn_accesses", hazards.drawn_cases),
    )
}


def answer(case: Case) -> Result | LabError:
    """Run a case; return the error where it ends in one."""
    try:
        return case.simulate()
    except LabError as error:
        return error


def write(groups: Iterable[Group], *, every: bool) -> None:
    """Write golden results: of changed launches, or of ``every`` one."""
    RESULTS.mkdir(exist_ok=True)
    for group in groups:
        before, after, made = group.golden(), {}, 0
        for name, case in group.cases().items():
            golden = before.get(name)
            if every or golden is None or golden["launch"] != case.fingerprint():
                golden = record_of(case, answer(case))
                made += 1
            after[name] = golden
        group.path.write_text(text_of(after), encoding="utf-8")
        print(f"{group.name}: {len(after)} launches, {made} written")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this one")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    write([GROUPS[name] for name in given.group or GROUPS], every=given.all)


if __name__ == "__main__":
    main()
