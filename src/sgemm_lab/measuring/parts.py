"""Times of kernels on tensor cores without some of their parts.

What a part costs is seen where it is left out. The results of these kernels are wrong, and nobody
reads them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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

_NO_COPIES: tuple[Edit, ...] = (
    ("tid == 0 && tile < tiles", "false && tile < tiles"),
    ("mbarrierWait(&filled[now], phase);", ""),
)
_NO_READS: tuple[Edit, ...] = (
    ("Bs[now][2 * group + c / 32][kB][piece * 4 + c % 4]", "0.01f * (kB + piece + c)"),
)
_NO_COPIES_OF_A: tuple[Edit, ...] = (
    ("4 * BK * (BM + BN));", "4 * BK * BN);"),
    ("tmaLoad(&As[now], mapA, k, row, &filled[now]);", ""),
)
_ONLY_COPIES: tuple[Edit, ...] = (
    ("wgmma64x256x8(acc, fragB[s], a + 2 * s, k + s > 0);", ""),
    ("float acc[128];", "float acc[128] = {};"),
    ("if (r < M && c < N) C[", "if (acc[i] == 1.0f) C["),
)
_NO_STORES: tuple[Edit, ...] = (
    ("if (boxesOfC) {", "if (M > 0) {\n            } else if (boxesOfC) {"),
)
_NO_ADDS: tuple[Edit, ...] = (("for (int i = 0; i < 64; ++i) acc[i] += part[i];", ""),)


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


PARTS = {
    "one_group": Part("wgmma_minimal"),
    "one_group.no_copies_of_a": Part("wgmma_minimal", _NO_COPIES_OF_A),
    "one_group.no_copies": Part("wgmma_minimal", _NO_COPIES),
    "one_group.no_copies_or_reads": Part("wgmma_minimal", _NO_COPIES + _NO_READS),
    "one_group.only_copies": Part("wgmma_minimal", _ONLY_COPIES),
    "two_groups": Part("wgmma_minimal:BN=128"),
    "3xfp16": Part("wgmma_3xfp16"),
    "3xfp16.first_pass": Part(
        "wgmma_3xfp16", (("    if (tid < STAGES) {\n", "    return;\n    if (tid < STAGES) {\n"),)
    ),
    "3xfp16.no_adds": Part("wgmma_3xfp16", _NO_ADDS),
    "fp16": Part("wgmma_fp16:INPUT=16"),
    "fp16.no_stores": Part("wgmma_fp16:INPUT=16", _NO_STORES),
    "fp16.no_copies_or_stores": Part("wgmma_fp16:INPUT=16", _NO_COPIES + _NO_STORES),
    "fp16.threads_store": Part(
        "wgmma_fp16:INPUT=16",
        (("boxesOfC = N % 4 == 0 && size_t(C) % 16 == 0", "boxesOfC = false"),),
    ),
}
"""By name; the first word says which kernel."""


def parts(progress: Progress = lambda _: None) -> Iterator[Reading]:
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
