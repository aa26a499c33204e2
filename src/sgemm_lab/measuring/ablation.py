"""Ablation: times of kernels on tensor cores without some of their parts.

What a part costs is seen where it is left out. The results of these kernels are wrong, and nobody
reads them.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import LoadedKernel, device_target
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, parse_kernel
from sgemm_lab.measuring.interleaved import Progress, time_interleaved
from sgemm_lab.records.gpu_record import Reading

SIZE = 4096
"""M = N = K."""

Edit = tuple[str, str]
"""A piece of a kernel's text, and what stands there instead."""


@dataclass(frozen=True)
class Part:
    """A kernel of the book with edits."""

    kernel: str
    edits: tuple[Edit, ...] = ()

    def load(self) -> Kernel:
        """Return the edited kernel."""
        source = load_kernel(self.kernel).source
        for old, new in self.edits:
            if source.count(old) != 1:
                raise LabError(f"{self.kernel} does not have '{old}' once.")
            source = source.replace(old, new)
        return parse_kernel(self.kernel.partition(":")[0], source)


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PARTS = {
    name: Part(one["kernel"], tuple(edit for kind in one["edits"] for edit in _DATA["edits"][kind]))
    for name, one in _DATA["parts"].items()
}
"""By name; the first word says which kernel."""


def ablation(progress: Progress = lambda _: None) -> Iterator[Reading]:
    """Time the kernels of ``PARTS`` at 4096³, interleaved; nothing on a GPU that lacks wgmma.

    Names of the readings are ``part.`` with one of ``PARTS``, in µs, and the same with ``.clock``,
    in MHz. The parameter is the size.
    """
    kernels = {name: part.load() for name, part in PARTS.items()}
    if not all(suits(kernel, device_target()) for kernel in kernels.values()):
        return
    progress("kernels on tensor cores without some of their parts")
    products = {name: LoadedKernel(kernel) for name, kernel in kernels.items()}
    for one in time_interleaved(dict(products), (SIZE, SIZE, SIZE)):
        yield Reading(f"part.{one.kernel}", SIZE, "µs", tuple(1e6 * s for s in one.seconds))
        if one.clock_mhz is not None:
            yield Reading(f"part.{one.kernel}.clock", SIZE, "MHz", (float(one.clock_mhz),))
