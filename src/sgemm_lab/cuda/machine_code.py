"""The machine code of a kernel, as NVIDIA's disassembler prints it.

``nvdisasm`` comes with the CUDA toolkit, or alone as a Python package. It needs no GPU.
"""

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path

from sgemm_lab.cuda.compiler import Compiled
from sgemm_lab.errors import MissingToolError

_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]+)", re.M)
_PTX_INSTRUCTION = re.compile(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]+)[ ;]", re.M)


def ptx_instructions(ptx: str) -> Counter[str]:
    """Return how often each instruction, such as "ld.global.v4.f32", stands in PTX text."""
    return Counter(_PTX_INSTRUCTION.findall(ptx))


def machine_instructions(compiled: Compiled) -> Counter[str]:
    """Return how often each instruction, such as "LDG.E.128", stands in the machine code.

    Raises:
        MissingToolError: nvdisasm is not installed.
    """
    return Counter(_INSTRUCTION.findall(disassemble(compiled.cubin)))


@lru_cache(maxsize=32)
def disassemble(cubin: bytes) -> str:
    """Return machine code as text.

    Raises:
        MissingToolError: nvdisasm is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        command = [str(_nvdisasm()), "-c", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _nvdisasm() -> Path:
    packages = Path(sysconfig.get_paths()["purelib"])
    for found in sorted(packages.glob("nvidia/*/bin/nvdisasm*")):
        return found
    for folders in (None, "/usr/local/cuda/bin"):
        if tool := shutil.which("nvdisasm", path=folders):
            return Path(tool)
    raise MissingToolError(
        "NVIDIA's disassembler nvdisasm is not installed, so the machine code is not shown. "
        "Install it with 'pip install nvidia-cuda-nvdisasm'; it needs no GPU."
    )
