"""Hold the engine against the golden corpus: golden_engine.py ENGINE.wasm [GROUP ...].

    PYTHONPATH=tests/golden:tests:tests/samples:tests/simulator python tests/engine/golden_engine.py

Requests of one warp (``requests_of``) are not compared: the engine does not record them yet.
"""

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from engine.client import UnknownToEngine, launch
from engine.wasm import WasmCore
from golden_groups import GROUPS
from golden_launch import Case, plain_result
from golden_record import differences, record_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.simulation import Result

USUAL: dict[str, Any] = {
    "unwritten": (), "check_hazards": True, "count_requests": True, "trace": False,
    "products": False, "only_blocks": None, "schedule": "lockstep", "shared_parts": (),
    "together": False, "patience": None, "time_limit": math.inf, "progress": None,
}  # fmt: skip


def answer(core: WasmCore, case: Case) -> dict[str, Any]:
    """Return what the engine answers to a case, as JSON would hold it."""
    given = {name: value for name, value in case.options.items() if name != "requests_of"}
    for name in given.keys() - USUAL.keys():
        if given.pop(name):
            raise UnknownToEngine(f"option {name}")
    grid, block = ((*sides, 1, 1)[:3] for sides in (case.grid, case.block))
    try:
        found = launch(core, case.ptx, case.entry, grid, block, case.args, case.shared_bytes,
                       **{**USUAL, **given})  # fmt: skip
    except LabError as error:
        return {"raised": type(error).__name__, "message": str(error)}
    plain: dict[str, Any] = json.loads(json.dumps(plain_result(Result(*found))))
    return plain


def main() -> None:
    """Print for each group how many launches are equal, differ, or are not covered."""
    core = WasmCore(Path(sys.argv[1]))
    for name in sys.argv[2:] or GROUPS:
        tally, golden = Counter[str](), GROUPS[name].golden()
        for case_name, case in GROUPS[name].cases().items():
            try:
                made = record_of(case, answer(core, case))
            except UnknownToEngine:
                tally["not covered"] += 1
                continue
            wanted = {**golden[case_name], **{k: made[k] for k in ("launch",) if k in made}}
            for record in (wanted, made):
                record.pop("requests", None)
            different = differences(wanted, made)
            tally["different" if different else "equal"] += 1
            if different:
                print(f"  {case_name}: {different}")
        print(name, dict(tally), flush=True)


if __name__ == "__main__":
    main()
