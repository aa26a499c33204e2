"""Which kernel of a CUDA file, and how it is launched; what Node needs of it: see ``launch.ts``."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sgemm_lab.counting.launch_limits import TIME_LIMIT, Schedule
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.compile_file import Opened
from sgemm_lab.external_cuda.cuda_file import Pasted

LARGEST_ARRAY = 2**26
"""Most elements of an array in a file; more would need over 1 GB."""

_FILE_OF_ARGUMENT = re.compile(r":([^\s,:@]+\.npy)")
_FILE_OF_EXPECTATION = re.compile(r"([^=]+\.npy)\s*$")


@dataclass(frozen=True)
class ExternalKernel:
    """A kernel in any CUDA file, and how to launch it. Shapes are arithmetic over M, N and K."""

    pasted: Pasted
    grid: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    shared_bytes: str = "0"
    arguments: str | None = None
    """The text of ``--args``; None to infer the arguments from names and types."""


@dataclass
class Settings:
    """How a launch is simulated."""

    target: str = DEFAULT_TARGET
    check_hazards: bool = True
    count_requests: bool = True
    schedule: Schedule = "lockstep"
    order: int | None = None
    """The seed of the order in which blocks and warps run; None for ascending numbers."""
    time_limit: float = TIME_LIMIT
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)


def for_node(kernel: ExternalKernel, opened: Opened, expect: Iterable[str] = ()) -> dict[str, Any]:
    """Return a compiled kernel for ``python_requests.ts``, with arrays of the files it names."""
    named = _FILE_OF_ARGUMENT.findall(kernel.arguments or "")
    named += [name.strip() for text in expect for name in _FILE_OF_EXPECTATION.findall(text)]
    return {
        **opened.sources.given,
        "entry": opened.name,
        "ptx": opened.ptx,
        "symbol": opened.symbol,
        "notes": opened.notes,
        "templateAssumed": opened.template_assumed,
        "doubts": opened.doubts,
        "grid": kernel.grid,
        "block": kernel.block,
        "sharedBytes": kernel.shared_bytes,
        "args": kernel.arguments,
        "loaded": {name: load_array(Path(name)) for name in named},
    }


def load_array(path: Path) -> Any:
    """Return the array of numbers in a ``.npy`` file."""
    try:
        found = np.load(path, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError) as fault:
        raise LabError(f"The file {path} cannot be read as an array: {fault}.") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        raise LabError(f"The file {path} holds no array of numbers.")
    if found.size > LARGEST_ARRAY:
        raise LabError(f"The file {path} holds more than {LARGEST_ARRAY:,} elements.")
    return found.astype("f8")
