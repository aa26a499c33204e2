"""A ring of stages in round numbers."""

RING = {"latency": 300, "load": 400, "compute": 2000, "windows": 8, "stages": 4}
