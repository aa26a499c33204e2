"""What a launch has to know of a kernel: read from its PTX."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator import worker


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter. ``type`` is the PTX one without its dot, such as ``u64``.

    That of a struct passed by value is ``b8[24]``, with its bytes.
    """

    name: str
    type: str


@dataclass(frozen=True, eq=False)
class ModuleVariable:
    """A ``__device__`` or ``__constant__`` variable that the kernel uses."""

    name: str
    """As the PTX names it."""
    start: npt.NDArray[np.uint8]
    """What it starts with, but for addresses."""
    is_set: bool
    """Whether the source says what it starts with."""
    constant: bool

    @property
    def bytes(self) -> int:
        """Its size."""
        return len(self.start)


@dataclass(frozen=True)
class ImageUse:
    """An instruction that uses a texture or a surface."""

    parameter: str | None
    """The parameter that it is, where that is plain."""
    parts: tuple[str, ...]
    """The opcode cut at its dots: ``("tex", "2d", "v4", "f32", "f32")``."""


@dataclass(frozen=True)
class PtxKernel:
    """One ``.entry`` of a PTX module."""

    name: str
    parameters: tuple[Parameter, ...]
    shared: tuple[int, ...]
    """Bytes of each shared array; 0 for dynamic shared memory."""
    variables: tuple[ModuleVariable, ...]
    image_uses: tuple[ImageUse, ...]
    special_registers: frozenset[str]
    """Those that it reads, such as "%tid.y"."""
    most_threads: tuple[int, ...]
    """Threads of a block along x, y, z as ``__launch_bounds__`` has them; empty without."""
    target: str
    """What the PTX was made for, such as "sm_90"; empty where it does not say."""


@lru_cache(maxsize=32)
def describe(ptx: str, entry: str) -> PtxKernel:
    """Read a kernel of a PTX module.

    Raises:
        PtxError: the text has no kernel, or a statement cannot be read.
        LabError: it has no kernel of this name.
    """
    found = worker.ask("describe", {"ptx": ptx, "entry": entry})
    return PtxKernel(
        name=entry,
        parameters=tuple(Parameter(**one) for one in found["parameters"]),
        shared=tuple(found["shared"]),
        variables=tuple(map(_variable, found["variables"])),
        image_uses=tuple(
            ImageUse(one["parameter"], tuple(one["parts"])) for one in found["images"]
        ),
        special_registers=frozenset(found["specials"]),
        most_threads=tuple(found["mostThreads"]),
        target=found["target"],
    )


def _variable(found: Mapping[str, Any]) -> ModuleVariable:
    return ModuleVariable(found["name"], found["start"], found["isSet"], found["constant"])
