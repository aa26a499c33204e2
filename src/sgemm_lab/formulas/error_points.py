"""Which ways to multiply stand where on a picture of speed over error, and in which words.

``error_points.js`` says the same; a test holds them equal. A way is data: its ``title``, what
multiplies in it (``arithmetic``), whether it is of the ``library``, ``tflops`` by size, ``timed``,
the error of the very product that was timed, by size, and ``errors`` by class of inputs and by K.
None stands where nothing was measured, :data:`LOST` where C holds NaN or infinity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.text import error_text

LOST = -1
"""In place of an error, where elements of C are NaN or infinite."""
TIMED = -1
"""In place of K: the error of the product that was timed, known at the first class of inputs."""


def error_of(way: Mapping[str, Any], size: int, inputs: int, k: int) -> Any:
    """Return the error of a way: a number, :data:`LOST`, or None.

    Args:
        way: as the module says.
        size: which of the sizes.
        inputs: which class of inputs.
        k: which K, or :data:`TIMED`.
    """
    if k == TIMED:
        return way["timed"][size] if inputs == 0 else None
    return way["errors"][inputs][k]


def shown_ways(
    ways: Sequence[Mapping[str, Any]], size: int, inputs: int, k: int, *, every: bool
) -> list[int]:
    """Return the indices of the ways that stand on the picture: what is known of both.

    Args:
        ways: as the module says, ``first`` by size where a way is shown at once.
        size: which of the sizes.
        inputs: which class of inputs.
        k: which K, or :data:`TIMED`.
        every: whether all are shown, and not the first alone.
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
    """Return which way is the fastest of those that err no more than cuBLAS in FP32.

    Args:
        ways: as the module says; the first of the library is cuBLAS in FP32.
        shown: indices of those on the picture.
        size: which of the sizes.
        inputs: which class of inputs.
        k: which K, or :data:`TIMED`.
    """
    points = [(ways[i], error_of(ways[i], size, inputs, k)) for i in shown]
    library = next((error for way, error in points if way["library"]), None)
    lost = sum(error == LOST for _, error in points)
    told = sentence("error.lost", count=lost) if lost else ""
    if library is None or library == LOST:
        return " ".join(filter(None, [sentence("error.alone"), told]))
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
    return " ".join(filter(None, [words, told]))


def way_words(
    ways: Sequence[Mapping[str, Any]], index: int, size: int, inputs: int, k: int, at: str
) -> str:
    """Return the speed and the error of one way.

    Args:
        ways: as the module says.
        index: which of them.
        size: which of the sizes.
        inputs: which class of inputs.
        k: which K, or :data:`TIMED`.
        at: the size as it is written.
    """
    way = ways[index]
    speed = sentence("error.speed", tflops=way["tflops"][size], size=at)
    error = error_of(way, size, inputs, k)
    if error == LOST:
        return f"{speed} {sentence('error.loses')}"
    library = next((one for one in ways if one["library"]), None)
    beside = error_of(library, size, inputs, k) if library else None
    if beside is None or beside == LOST:
        return f"{speed} {sentence('error.own', error=error_text(error))}"
    told = sentence("error.beside", error=error_text(error), share=error / beside)
    return f"{speed} {told}"


def place_words(size: str, inputs: str, k: int, side: int, missing: int) -> str:
    """Return of which products speed and error are, and how many ways are not on the picture.

    Args:
        size: the size as it is written.
        inputs: the class of inputs, in words.
        k: terms of a sum; 0 where the error is that of the product that was timed.
        side: rows and columns of C where errors are measured by K.
        missing: how many ways are not recorded there.
    """
    if k:
        words = sentence("error.apart", size=size, side=side, k=k, inputs=inputs)
    else:
        words = sentence("error.timed", size=size, inputs=inputs)
    return f"{words} {sentence('error.missing', count=missing)}" if missing else words
