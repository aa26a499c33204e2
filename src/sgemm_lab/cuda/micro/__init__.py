"""Small kernels that measure the GPU itself."""

from pathlib import Path
from typing import Any

from sgemm_lab.cuda.compiler import compile_source
from sgemm_lab.cuda.launch import device_target, load_function
from sgemm_lab.errors import LabError


def micro_source(name: str) -> str:
    """Return the text of ``<name>.cu`` in this folder."""
    path = Path(__file__).parent / f"{name}.cu"
    if not path.is_file():
        raise LabError(f"There is no microbenchmark file called '{name}'.")
    return path.read_text(encoding="utf-8")


def load_micro(name: str, entry: str) -> Any:
    """Compile a file of this folder for the current GPU and return the function ``entry``."""
    compiled = compile_source(micro_source(name), f"{name}.cu", device_target(), entry)
    return load_function(compiled, entry)
