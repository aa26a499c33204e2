"""Bugs in public samples that the simulator found, and the results of the same kernels on a GPU.

``public_bugs.json`` has them, with links to the code instead of copies.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgemm_lab.text import plural

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Ran:
    """Runs of a kernel on the GPU, compared with NumPy."""

    launch: str
    """The size, and what the arrays held."""
    runs: int = 0
    wrong_runs: int = 0
    elements: int = 0
    """Numbers of a result."""
    wrong_least: int = 0
    wrong_most: int = 0
    """Numbers that were wrong, in the best run and in the worst."""
    overwritten: int = 0
    """Numbers changed in an array that lay behind."""
    stopped: str = ""
    """The error that ended it."""

    def __str__(self) -> str:
        if self.stopped:
            return f"{self.launch}: stopped, {_STOPPED[self.stopped]}."
        if self.wrong_runs:
            least = "" if self.wrong_least == self.wrong_most else f"{self.wrong_least:,} to "
            return (
                f"{self.launch}: wrong in {self.wrong_runs:,} of {self.runs:,} runs, "
                f"{least}{self.wrong_most:,} of {plural(self.elements, 'number')}."
            )
        text = f"{self.launch}: right in {self.runs:,} of {self.runs:,} runs."
        if self.overwritten:
            text += f" In the array behind it, {plural(self.overwritten, 'number')} changed."
        return text


_STOPPED = {"cudaErrorIllegalAddress": "for an address that is none"}


@dataclass(frozen=True)
class Tool:
    """What a tool of NVIDIA's ``compute-sanitizer`` says of a launch."""

    tool: str
    errors: int
    warnings: int

    def __str__(self) -> str:
        found = [
            plural(count, name)
            for count, name in ((self.errors, "error"), (self.warnings, "warning"))
            if count
        ]
        return f"`{self.tool}`: {' and '.join(found)}."


@dataclass(frozen=True)
class PublicBug:
    """A bug in somebody's sample. Texts may hold code in backticks."""

    repository: str
    file: str
    commit: str
    """Full hash of the newest commit that was examined and has the bug."""
    line: int
    kernel: str
    wrong: str
    fair: str
    """What speaks for the sample."""
    command: str
    said: str
    """What the command answers."""
    h200: tuple[Ran | Tool, ...]

    @property
    def address(self) -> str:
        """Where the line is to be read."""
        return f"https://github.com/{self.repository}/blob/{self.commit}/{self.file}#L{self.line}"

    @property
    def name(self) -> str:
        """The file without its folders."""
        return self.file.rpartition("/")[2]

    @property
    def always_right(self) -> bool:
        """Whether every result on the GPU was right nevertheless."""
        return not any(
            isinstance(one, Ran) and (one.wrong_runs or one.stopped) for one in self.h200
        )


@dataclass(frozen=True)
class PublicBugs:
    """All of them, and the GPU that ran the kernels."""

    gpu: str
    seen: str
    """The day on which the commits were examined."""
    bugs: tuple[PublicBug, ...]

    @property
    def repositories(self) -> int:
        """How many repositories they come from."""
        return len({bug.repository for bug in self.bugs})

    @property
    def right_nevertheless(self) -> int:
        """How many of the kernels gave right results in every run."""
        return sum(bug.always_right for bug in self.bugs)


def public_bugs() -> PublicBugs:
    """Return the record."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    bugs = tuple(
        PublicBug(**{**one, "h200": tuple(_outcome(ran) for ran in one["h200"])})
        for one in kept.pop("bugs")
    )
    return PublicBugs(**kept, bugs=bugs)


def _outcome(kept: dict[str, Any]) -> Ran | Tool:
    return Tool(**kept) if "tool" in kept else Ran(**kept)
