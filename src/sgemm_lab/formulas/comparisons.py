"""Sentences that compare measurements. ``comparisons.ts`` is the same; a test compares the two."""

from collections.abc import Mapping, Sequence
from typing import Any

from sgemm_lab.formulas.sentences import sentence


def ladder_words(
    size: str, gpu: str, rungs: Sequence[tuple[str, Mapping[str, Any]]], *, others: bool = False
) -> str:
    """Return the conclusion of a ladder of kernels: its first and its fastest rung.

    Args:
        size: as text, such as 4096³.
        gpu: name of the GPU.
        rungs: title and result of each measured kernel, in the order of the book. A result has
            ``median`` and ``cublas``, in GFLOP/s of the same run.
        others: whether the ladder also has kernels of another arithmetic, not among ``rungs``.
    """
    reach = _reach(size, gpu, rungs)
    return f"{reach} {sentence('ladder.others')}" if others else reach


def _reach(size: str, gpu: str, rungs: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    place = sentence("ladder.place", size=size, gpu=gpu)
    if not rungs:
        return sentence("ladder.none", place=place)
    (first, slow), (best, fast) = rungs[0], max(rungs, key=lambda rung: float(rung[1]["median"]))
    share = slow["median"] / slow["cublas"]
    if fast is slow:
        return sentence("ladder.one", place=place, first=first, share=share)
    return sentence(
        "ladder.best",
        place=place,
        first=first,
        share=share,
        best=best,
        best_share=fast["median"] / fast["cublas"],
        times=fast["median"] / slow["median"],
    )


def memory_words(gpu: Mapping[str, Any]) -> str:
    """Return the conclusion of the memory ladder: latencies and bandwidths of its ends.

    Args:
        gpu: ``name``, ``latency`` in cycles and ``bandwidth`` in GB/s, both by level.
    """
    cycles, gbs = gpu["latency"], gpu["bandwidth"]
    return sentence(
        "memory.conclusion",
        gpu=gpu["name"],
        l1=cycles["l1"],
        l2=cycles["l2"],
        dram=cycles["dram"],
        longer=cycles["dram"] / cycles["shared"],
        more=gbs["shared"] / gbs["dram"],
    )
