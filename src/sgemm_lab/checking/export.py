"""Export a kernel as one CUDA file with a ``main`` that checks and times it; ``nvcc`` builds it."""

import re
from pathlib import Path

from sgemm_lab.checking.judge import BOUNDS
from sgemm_lab.cuda.archive import file_stem
from sgemm_lab.errors import LabError
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import MAP_LINE, Kernel, Size
from sgemm_lab.tensor_map import ALIGNMENT, ELEMENT_BYTES

_TEMPLATE = Path(__file__).with_name("export_main.cu")
_ENCODE = Path(__file__).with_name("export_maps.cu")
_INCLUDES = ("algorithm", "cmath", "cstdio", "cstdlib", "vector")
_TYPES = {"fp16": "FLOAT16", "bf16": "BFLOAT16", "fp32": "FLOAT32", "tf32": "TFLOAT32"}
_SWIZZLES = {"0": "NONE", "32": "32B", "64": "64B", "128": "128B"}


def build_command(kernel: Kernel) -> str:
    """Return the command that compiles the exported file."""
    target = "-arch=native"
    if kernel.needs is not None and kernel.needs.endswith("a"):
        # With -arch=sm_90a, nvcc 13.0 also compiles for sm_90, which lacks the instructions.
        virtual = kernel.needs.replace("sm_", "compute_")
        target = f"-gencode arch={virtual},code={kernel.needs}"
    name = file_stem(kernel)
    libraries = " -lcuda" if kernel.maps else ""
    return f"nvcc -O3 -std=c++17 {target} -o {name} {name}.cu{libraries}"


def exported(kernel: Kernel, size: Size) -> str:
    """Return the kernel and its program; it times ``size`` (M, N, K) unless given another.

    The bound of the error is the one of ``checking.judge.BOUNDS``.

    Raises:
        LabError: the kernel takes FP16, which the program does not have.
    """
    if kernel.input_bytes != FLOAT_BYTES:
        raise LabError(f"{kernel.name} takes FP16. Export {kernel.base_name}, which rounds FP32.")
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
        "ARGUMENTS": "A, B, C, M, N, K"
        + (", workspace" if workspace else "")
        + "".join(f", {_field(one, 'name')}" for one in kernel.maps),
        "MAPS": _maps(kernel),
        "MAP_SETUP": "".join(map(_map_setup, kernel.maps)),
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
    headers = ("cuda.h", *_INCLUDES) if kernel.maps else _INCLUDES
    includes = "".join(f"#include <{name}>\n" for name in headers)
    return f"{head}\n{includes}\n{kernel.source}{program}"


def shape_term(text: str) -> str:
    """Return a term of a head comment as C++ on double M, N, K and SMS and int constants."""
    return re.sub(r"\bmin\(", "smaller(", re.sub(r"\bmax\(", "larger(", text))


def _workspace_setup(kernel: Kernel) -> str:
    """Return the C++ that allocates the workspace, of the type of the parameter after K."""
    parameter = re.search(r"\bsgemm\([^)]*?\bint K,\s*([^,)]+)", kernel.source)
    kind = parameter[1].rsplit(maxsplit=1)[0] if parameter else "void*"
    return (
        f"    {kind} workspace;  // zero before the first launch only\n"
        "    CUDA(cudaMalloc(&workspace, size_t(shape.workspace)));\n"
        "    CUDA(cudaMemset(workspace, 0, size_t(shape.workspace)));\n"
    )


def _field(text: str, name: str) -> str:
    match = MAP_LINE.fullmatch(text)
    assert match is not None  # read before, when the kernel was parsed
    return match[name] or ""


def _maps(kernel: Kernel) -> str:
    """Return the C++ functions that make the kernel's tensor maps."""
    made = [_ENCODE.read_text("utf-8")] if kernel.maps else []
    for text in kernel.maps:
        dtype, matrix, columns = (_field(text, one) for one in ("dtype", "matrix", "columns"))
        place = f"workspace + size_t({shape_term(_field(text, 'offset'))})"
        if matrix and _field(text, "offset"):
            fits = f"size_t({matrix}) % {ALIGNMENT} == 0 && size_t({columns}) % 4 == 0"
            if ELEMENT_BYTES[dtype] == FLOAT_BYTES:
                place = f"{fits} ? (const void*){matrix} : {place}"
        elif matrix:
            place = matrix
        terms = ("rows", "columns", "pitch_bytes", "box_rows", "box_columns")
        swizzle = _SWIZZLES[_field(text, "swizzle")]
        made.append(
            f"TensorMap {_field(text, 'name')}Of(double M, double N, double K, const float* A, "
            "const float* B,\n                     const float* C, const char* workspace)\n{\n"
            f"    return encoded(CU_TENSOR_MAP_DATA_TYPE_{_TYPES[dtype]}, {place},\n"
            + "".join(f"                   {shape_term(_field(text, one))},\n" for one in terms)
            + f"                   CU_TENSOR_MAP_SWIZZLE_{swizzle});\n}}\n"
        )
    return "\n".join([*made, ""]) if made else ""


def _map_setup(text: str) -> str:
    name = _field(text, "name")
    return (
        f"    const TensorMap {name} =\n"
        f"        {name}Of(M, N, K, A, B, C, reinterpret_cast<const char*>(workspace));\n"
    )
