"""Warps of an SM in round numbers."""

from sgemm_lab.widgets.latency_hiding import Case

CASES = [
    Case(name="L1", work=20, wait=30, most=16),
    Case(name="L2", work=20, wait=280, most=16),
    Case(name="DRAM", work=20, wait=700, most=16),
]
GROUPS = [Case(name="wgmma_tf32", work=1600, wait=1200, most=2)]
