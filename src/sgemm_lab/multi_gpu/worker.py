"""The measuring process ``python -m sgemm_lab.multi_gpu.worker``, which ``recorder`` starts.

It reads requests as JSON and prints one line of JSON for each: ``item``, in the form of a record,
or ``refused``, a message. NCCL reads its settings once per process, and a hanging transfer blocks
its process. So other settings need another process.
"""

import gc
import json
import os
import sys
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import measure
from sgemm_lab.multi_gpu.engine import NotInTimeError
from sgemm_lab.multi_gpu.nccl import set_block_limit
from sgemm_lab.records.multi_gpu import Case, Item, LinkCase
from sgemm_lab.records.schema import decode, encode

PRODUCT, LINK, TIMELINE = "product", "link", "timeline"


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
    if request["do"] == LINK:
        return measure.measure_link(decode(LinkCase, request["case"]))
    case = decode(Case, request["case"])
    if request["do"] == PRODUCT:
        return measure.measure_product(case)
    return measure.measure_timeline(case, request["overlap"])


if __name__ == "__main__":
    main()
