"""Levels of memory in round numbers, as one SM sees them."""

from sgemm_lab.widgets.in_flight import Source

L1 = Source(id="l1", name="L1", latency=32, most=64)
L2 = Source(id="l2", name="L2", latency=256, most=32)
DRAM = Source(id="dram", name="DRAM", latency=640, most=16)
