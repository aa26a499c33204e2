"""Writes the golden corpus of the simulator.

make golden                        results of launches that are new or have changed
make golden GROUPS="traces" ALL=1  all results of some groups, after a wanted change
"""

import argparse
from collections.abc import Iterable

from golden_groups import GROUPS, RESULTS, Group
from golden_record import record_of, text_of


def write(groups: Iterable[Group], *, every: bool) -> None:
    """Write golden results: of changed launches, or of ``every`` one."""
    RESULTS.mkdir(exist_ok=True)
    for group in groups:
        before, after, made = group.golden(), {}, 0
        for name, case in group.cases().items():
            golden = before.get(name)
            if every or golden is None or golden["launch"] != case.fingerprint():
                golden = record_of(case, case.answer())
                made += 1
            after[name] = golden
        group.path.write_text(text_of(after), encoding="utf-8")
        print(f"{group.name}: {len(after)} launches, {made} written")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this one")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("write").add_argument("--all", action="store_true")
    given = parser.parse_args()
    groups = [GROUPS[name] for name in given.group or GROUPS]
    write(groups, every=given.all)


if __name__ == "__main__":
    main()
