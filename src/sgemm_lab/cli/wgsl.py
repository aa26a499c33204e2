"""``sgemm-lab record --wgsl``: measure the WGSL ladder on this machine without a browser."""

import argparse
import json

from sgemm_lab.cli.printing import print_json, print_status
from sgemm_lab.errors import LabError
from sgemm_lab.files import own_records, write_whole
from sgemm_lab.models.ladder import SIZE
from sgemm_lab.records.schema import decode
from sgemm_lab.records.webgpu_cards import MeasuredCard, card_path
from sgemm_lab.text import number
from sgemm_lab.wgsl.native import measure


def run_record_wgsl(options: argparse.Namespace) -> int:
    """Measure, write and print the WGSL ladder; return the exit status.

    Raises:
        LabError: kernels or a non-square size were given, or the card or ``wgpu`` is missing.
    """
    sizes = options.sizes or [(SIZE, SIZE, SIZE)]
    if options.kernels or len(sizes) > 1 or len(set(sizes[0])) > 1:
        raise LabError(
            "record --wgsl measures all WGSL programs at one square size. Give no kernel, and at "
            "most one size, such as --size 2048."
        )
    found = measure(sizes[0][0], print_status)
    measured = decode(MeasuredCard, found)
    path = card_path(options.out or own_records(), measured.card)
    write_whole(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if options.json:
        print_json({"file": str(path), **found})
        return 0
    for step in measured.rungs:
        gflops = measured.gflops(step.name, step.fingerprint) or 0
        print(f"{step.name:<40} {number(gflops):>8} GFLOP/s")
    print(f"Wrote {path}. The page that measures a card can open it.")
    return 0
