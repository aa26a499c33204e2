"""Levels of memory and a ring of stages in round numbers, as one SM sees them."""

from sgemm_lab.widgets.in_flight import Source

L1 = Source(id="l1", name="L1", latency=32, most=64)
L2 = Source(id="l2", name="L2", latency=256, most=32)
DRAM = Source(id="dram", name="DRAM", latency=640, most=16)

RING = {"latency": 300, "load": 400, "compute": 2000, "windows": 8, "stages": 4}
