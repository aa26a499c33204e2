"""Launches of a kernel of which more or less is assumed: see ``assumed_launch.ts``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sgemm_lab.external_cuda.arguments import read_arguments
from sgemm_lab.external_cuda.launch import Prepared


@dataclass(frozen=True)
class Try:
    """A launch to try."""

    prepared: Prepared
    launched: bool
    """Whether the file gives grid and block."""
    narrowed: bool
    """Whether the block was shrunk to stay inside the kernel's arrays."""
    outer: bool
    """Whether only the blocks at the corners of its grid are to run."""
    unknown: Prepared
    made_by: Mapping[str, Any]
    """What it assumes, as Node has it."""


def tries(unknown: Prepared, said: str = "") -> Iterator[Try]:
    """Yield distinct launches of a kernel, the most likely first.

    ``said`` precedes the sentences about the arguments.
    """
    return _asked(unknown, said)


def further_tries(done: Try) -> Iterator[Try]:
    """Yield what else to run after a launch of the file, with what it assumed.

    The outer blocks at the file's own sizes, where those were made smaller; its other launches.
    """
    return _asked(done.unknown, made_by=done.made_by)


def _asked(
    unknown: Prepared, said: str = "", made_by: Mapping[str, Any] | None = None
) -> Iterator[Try]:
    kernel = unknown.kernel
    known = {"grid": kernel.grid, "block": kernel.block, "sharedBytes": kernel.shared_bytes}
    for one in unknown.opened.ask("assumed_launches", known=known, madeBy=made_by):
        shape = replace(
            kernel,
            grid=tuple(one["grid"]),
            block=tuple(one["block"]),
            shared_bytes=one["sharedBytes"],
        )
        prepared = replace(
            unknown,
            kernel=shape,
            given=read_arguments(one["given"]),
            argued=f"{said}{one['argued']}",
            assumed=one["assumed"],
            certain=one["certain"],
            contents_assumed=one["contentsAssumed"],
            numbers_told=one["numbersTold"],
            clipped=one["clipped"],
            filled_to=one["filledTo"],
        )
        yield Try(prepared, one["launched"], one["narrowed"], one["outer"], unknown, one["madeBy"])
