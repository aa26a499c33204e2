"""The process that measures: ``python -m sgemm_lab.multi_gpu.worker``, which ``recorder`` starts.

It reads requests as JSON and answers one line of JSON for each: ``item``, as a record keeps it, or
``refused``, a sentence. NCCL reads its settings once per process, and a transfer that never ends
takes its process with it; so measurements with other settings, and what hangs, have their own.
"""

import gc
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import baselines, measure
from sgemm_lab.multi_gpu.process_group import NotInTimeError, set_block_limit
from sgemm_lab.records.multi_gpu import Case, Item, LinkCase
from sgemm_lab.records.schema import decode, encode

PRODUCT, LINK, TIMELINE, LIBRARY = "product", "link", "timeline", "library"


def main() -> None:
    """Answer all requests."""
    answers = os.fdopen(os.dup(1), "w")  # NCCL and others may print to 1 themselves
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.read())

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    say({"ready": True})
    set_block_limit(asked["block_limit"])
    for request in asked["requests"]:
        try:
            say({"item": encode(_measured(request))})
        except NotInTimeError as fault:
            say({"refused": str(fault)})
            break  # what hangs may hang the next one too: another process answers the rest
        except LabError as fault:
            say({"refused": str(fault)})
        gc.collect()  # so that the next finds the GPUs' memory free
    say({"done": True})
    # Without the usual tidying up: a GPU, or NCCL, may have something that never ends.
    os._exit(0)


def _measured(request: dict[str, Any]) -> Item:
    ways: dict[str, Callable[[], Item]] = {
        PRODUCT: lambda: measure.measure_product(decode(Case, request["case"])),
        LINK: lambda: measure.measure_link(decode(LinkCase, request["case"])),
        TIMELINE: lambda: measure.measure_timeline(
            decode(Case, request["case"]), request["overlap"]
        ),
        LIBRARY: lambda: baselines.measure(**request["case"]),
    }
    return ways[request["do"]]()


if __name__ == "__main__":
    main()
