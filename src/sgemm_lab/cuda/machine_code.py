"""The machine code of a kernel, as NVIDIA's disassembler prints it.

``nvdisasm`` comes with the CUDA toolkit, or alone as a Python package. It needs no GPU.
"""

import shutil
import subprocess
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

from sgemm_lab.errors import MissingToolError


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
