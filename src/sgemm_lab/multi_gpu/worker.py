"""The measuring process ``python -m sgemm_lab.multi_gpu.worker``, which ``recorder`` starts.

It reads requests as JSON and prints one line of JSON for each: ``item``, in the form of a record,
or ``refused``, a message. NCCL reads its settings once per process, and a hanging transfer blocks
its process. So other settings need another process.
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
    answers = os.fdopen(os.dup(1), "w")  # NCCL and others may print to 1
    os.dup2(2, 1)
    job = json.loads(sys.stdin.read())

    def send(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    send({"ready": True})
    set_block_limit(job["block_limit"])
    for request in job["requests"]:
        try:
            send({"item": encode(_measured(request))})
        except NotInTimeError as fault:
            send({"refused": str(fault)})
            break  # the next request may hang too; the recorder starts another process
        except LabError as fault:
            send({"refused": str(fault)})
        gc.collect()  # free the GPUs' memory
    send({"done": True})
    # Skip the cleanup: a GPU or NCCL may hang.
    os._exit(0)


def _measured(request: dict[str, Any]) -> Item:
    measurements: dict[str, Callable[[], Item]] = {
        PRODUCT: lambda: measure.measure_product(decode(Case, request["case"])),
        LINK: lambda: measure.measure_link(decode(LinkCase, request["case"])),
        TIMELINE: lambda: measure.measure_timeline(
            decode(Case, request["case"]), request["overlap"]
        ),
        LIBRARY: lambda: baselines.measure(**request["case"]),
    }
    return measurements[request["do"]]()


if __name__ == "__main__":
    main()
