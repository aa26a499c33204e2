"""Export a kernel as one CUDA file with a ``main`` that checks and times it; ``nvcc`` builds it."""

import re
from pathlib import Path

from sgemm_lab.checking.judge import BOUNDS
from sgemm_lab.cuda.archive import file_stem
from sgemm_lab.kernel import Kernel, Size

_TEMPLATE = Path(__file__).with_name("export_main.cu")
_INCLUDES = ("algorithm", "cmath", "cstdio", "cstdlib", "vector")


def build_command(kernel: Kernel) -> str:
    """Return the command that compiles the exported file."""
    exact = kernel.needs is not None and kernel.needs.endswith("a")
    target = kernel.needs if exact else "native"
    name = file_stem(kernel)
    return f"nvcc -O3 -std=c++17 -arch={target} -o {name} {name}.cu"


def exported(kernel: Kernel, size: Size) -> str:
    """Return the kernel and its program; it times ``size`` (M, N, K) unless given another.

    The bound of the error is the one of ``checking.judge.BOUNDS``.
    """
    workspace = kernel.workspace != "0"
    bound = BOUNDS[kernel.arithmetic]
    m, n, k = size
    parts = {
        "GRID_X": shape_term(kernel.grid[0]),
        "GRID_Y": shape_term(kernel.grid[1]),
        "BLOCK_X": shape_term(kernel.block[0]),
        "BLOCK_Y": shape_term(kernel.block[1]),
        "SHARED": shape_term(kernel.shared),
        "WORKSPACE": shape_term(kernel.workspace),
        "FACTORS": repr(bound["factors"] + bound["once"]),
        "PER_K": repr(bound["per_k"]),
        "LEAST": repr(bound["least"]),
        "ARGUMENTS": "A, B, C, M, N, K" + (", workspace" if workspace else ""),
        "WORKSPACE_SETUP": _workspace_setup(kernel) if workspace else "",
        "WORKSPACE_FREE": "    CUDA(cudaFree(workspace));\n" if workspace else "",
        "M": str(m),
        "N": str(n),
        "K": str(k),
    }
    program = re.sub(r"@(\w+)@", lambda match: parts[match[1]], _TEMPLATE.read_text("utf-8"))
    head = (
        f"// {kernel.name}: {kernel.title}. Build and run:\n"
        f"//   {build_command(kernel)}\n"
        f"//   ./{file_stem(kernel)} [M N K]\n"
        "// It exits with 1 if a result is wrong.\n"
    )
    includes = "".join(f"#include <{name}>\n" for name in _INCLUDES)
    return f"{head}\n{includes}\n{kernel.source}{program}"


def shape_term(text: str) -> str:
    """Return a term of a head comment as C++ on double M, N, K and SMS and int constants."""
    return re.sub(r"\bmin\(", "smaller(", re.sub(r"\bmax\(", "larger(", text))


def _workspace_setup(kernel: Kernel) -> str:
    """Return the C++ that allocates the workspace, of the type of the kernel's last parameter."""
    signature = re.search(r"\bsgemm\(([^)]*)\)", kernel.source)
    kind = signature[1].split(",")[-1].rsplit(maxsplit=1)[0] if signature else "void*"
    return (
        f"    {kind} workspace;  // zero before the first launch only\n"
        "    CUDA(cudaMalloc(&workspace, size_t(shape.workspace)));\n"
        "    CUDA(cudaMemset(workspace, 0, size_t(shape.workspace)));\n"
    )
