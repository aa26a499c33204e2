"""Points and sentences of a plot of speed over error.

``error_points.ts`` is the same; a test compares the two. An algorithm is a mapping with
``title``, ``arithmetic``, ``library`` (whether it is cuBLAS), ``tflops`` by size, ``timed`` (error
of the timed product, by size), and ``errors`` by input distribution and K. None means not measured,
:data:`LOST` that C holds NaN or infinity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sgemm_lab.formulas.sentences import sentence

LOST = -1
"""Instead of an error: elements of C are NaN or infinite."""
TIMED = -1
"""Instead of K: the error of the timed product, known for the first input distribution."""


def error_of(way: Mapping[str, Any], size: int, inputs: int, k: int) -> Any:
    """Return the error of an algorithm: a number, :data:`LOST`, or None.

    Args:
        way: the algorithm.
        size: index of the size.
        inputs: index of the input distribution.
        k: index of K, or :data:`TIMED`.
    """
    if k == TIMED:
        return way["timed"][size] if inputs == 0 else None
    return way["errors"][inputs][k]


def shown_ways(
    ways: Sequence[Mapping[str, Any]], size: int, inputs: int, k: int, *, every: bool
) -> list[int]:
    """Return the indices of the algorithms with known speed and error.

    Args:
        ways: the algorithms, with ``first`` by size: whether one is shown initially.
        size: index of the size.
        inputs: index of the input distribution.
        k: index of K, or :data:`TIMED`.
        every: whether to show all instead of the initial ones.
    """
    return [
        i
        for i, way in enumerate(ways)
        if (every or way["first"][size])
        and way["tflops"][size] is not None
        and error_of(way, size, inputs, k) is not None
    ]


def error_words(
    ways: Sequence[Mapping[str, Any]], shown: Sequence[int], size: int, inputs: int, k: int
) -> str:
    """Return a sentence on the fastest algorithm with at most the error of cuBLAS in FP32.

    Args:
        ways: the algorithms; the first of the library is cuBLAS in FP32.
        shown: indices of those in the plot.
        size: index of the size.
        inputs: index of the input distribution.
        k: index of K, or :data:`TIMED`.
    """
    points = [(ways[i], error_of(ways[i], size, inputs, k)) for i in shown]
    library = next((error for way, error in points if way["library"]), None)
    lost = sum(error == LOST for _, error in points)
    note = sentence("error.lost", count=lost) if lost else ""
    if library is None or library == LOST:
        return " ".join(filter(None, [sentence("error.alone"), note]))
    known = [(way, error) for way, error in points if error != LOST]
    good = [(way, error) for way, error in known if error <= library]
    best, error = max(good, key=lambda one: one[0]["tflops"][size])
    speed = best["tflops"][size]
    ends = "error.library" if best["library"] else "error.best"
    words = sentence(ends, best=best["title"], tflops=speed, share=error / library)
    faster = [other for way, other in known if way["tflops"][size] > speed]
    if faster:
        words += " " + sentence("error.faster", times=min(faster) / library)
    elif not any(way["tflops"][size] > speed for way, _ in points):
        words += " " + sentence("error.fastest")
    return " ".join(filter(None, [words, note]))


def place_words(size: str, inputs: str, k: int, side: int, missing: int) -> str:
    """Return a sentence on the sizes and inputs of a plot, and the number of missing algorithms.

    Args:
        size: as text.
        inputs: label of the input distribution.
        k: K of the errors; 0 for the errors of the timed products.
        side: rows and columns of C for errors by K.
        missing: number of algorithms without a record.
    """
    if k:
        words = sentence("error.apart", size=size, side=side, k=k, inputs=inputs)
    else:
        words = sentence("error.timed", size=size, inputs=inputs)
    return f"{words} {sentence('error.missing', count=missing)}" if missing else words
