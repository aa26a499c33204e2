"""Count and check kernels of any CUDA file by simulation, without a GPU.

This package does not know the book's kernels or records and can be used alone::

    from sgemm_lab import external_cuda

    kernel = external_cuda.read_kernel("sgemm.cu", entry="tiled<16>")
    run = external_cuda.count_external(kernel, (256, 256, 256))
    print(*run.sentences, sep="\\n")
    for report in external_cuda.check_file(kernel):
        print(report.kernel, report.verdict, *report.findings, sep="\\n")

Grid, block and arguments are read from the file's own launch and from the parameters' names and
types. Give those that cannot be determined.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sgemm_lab.external_cuda.check_file import check_file
from sgemm_lab.external_cuda.count import ExternalRun, count_external
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.launch import ExternalKernel, Settings
from sgemm_lab.external_cuda.report import KernelReport, Options
from sgemm_lab.files import read_source

__all__ = [
    "ExternalKernel",
    "ExternalRun",
    "KernelReport",
    "Options",
    "Pasted",
    "Settings",
    "check_file",
    "count_external",
    "read_kernel",
]


def read_kernel(
    path: str | Path,
    *,
    entry: str | None = None,
    grid: Sequence[str] = (),
    block: Sequence[str] = (),
    arguments: str | None = None,
    shared_bytes: int = 0,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> ExternalKernel:
    """Read a kernel from a CUDA file; it is compiled when it is counted or checked.

    Args:
        path: the ``.cu`` or ``.cuh`` file.
        entry: the kernel, where the file has several: a name, or a template with its values.
        grid: blocks along x, y, z, as arithmetic over M, N and K, such as "ceil(N/32)".
        block: threads of a block along x, y, z, written in the same way.
        arguments: the arguments in order, such as "M N K 1.0 A B 0.0 C".
        shared_bytes: dynamic shared memory of a block.
        include: further folders of headers.
        defines: macros to set, name to value.

    Raises:
        LabError: the file cannot be read.
    """
    file = Path(path)
    pasted = Pasted(
        file.name, read_source(file), file.parent, entry, tuple(include), dict(defines or {})
    )
    return ExternalKernel(pasted, tuple(grid), tuple(block), str(shared_bytes), arguments)
