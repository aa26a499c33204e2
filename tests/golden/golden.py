"""Writes the golden corpus of the simulator, and exports its launches for other engines.

    make golden                        results of launches that are new or have changed
    make golden GROUPS="traces" ALL=1  all results of some groups, after a wanted change
    PYTHONPATH=tests:tests/samples:tests/simulator python tests/golden/golden.py export FOLDER

An export has a file per group: a JSON object per line with ``name``, ``launch`` (see
``Case.plain``) and ``golden`` (see ``golden_record``).
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from golden_groups import GROUPS, RESULTS, Group
from golden_record import record_of, text_of


def write(groups: Iterable[Group], *, every: bool) -> None:
    """Write golden results from Python's engine: of changed launches, or of ``every`` one."""
    RESULTS.mkdir(exist_ok=True)
    for group in groups:
        before, after, made = group.golden(), {}, 0
        for name, case in group.cases().items():
            golden = before.get(name)
            if every or golden is None or golden["launch"] != case.fingerprint():
                golden = record_of(case, case.in_python())
                made += 1
            after[name] = golden
        group.path.write_text(text_of(after), encoding="utf-8")
        print(f"{group.name}: {len(after)} launches, {made} written")


def export(groups: Iterable[Group], folder: Path) -> None:
    """Write launches with their golden results for an engine in another language."""
    folder.mkdir(parents=True, exist_ok=True)
    for group in groups:
        golden = group.golden()
        with (folder / f"{group.name}.jsonl").open("w", encoding="utf-8") as lines:
            for name, case in group.cases().items():
                row = {"name": name, "launch": case.plain(), "golden": golden[name]}
                lines.write(json.dumps(row) + "\n")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this one")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("write").add_argument("--all", action="store_true")
    commands.add_parser("export").add_argument("folder", type=Path)
    given = parser.parse_args()
    groups = [GROUPS[name] for name in given.group or GROUPS]
    if given.command == "write":
        write(groups, every=given.all)
    else:
        export(groups, given.folder)


if __name__ == "__main__":
    main()
