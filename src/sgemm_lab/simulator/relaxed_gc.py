"""Spare Python's collector of garbage the work on what is none.

Binding a kernel to its registers makes tens of thousands of small functions that hold each other.
They live until the launch ends, and at Python's own settings the collector looks through them again
and again: a quarter of the time of a small launch.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""New objects after which the collector looks. At Python's own 700 a check at twenty small sizes
took 7.0 s, at 20,000 5.4 s, and 5.1 s where it never looked."""


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Let the collector look less often, and afterwards as often as before."""
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
