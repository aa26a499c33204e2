"""The command ``doctor``: capabilities of this machine, and advice on missing ones."""

import argparse
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cli.printing import print_json, print_table
from sgemm_lab.cuda.compiler import import_cupy, load_nvrtc
from sgemm_lab.cuda.launch import current_device, device_target, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.records.store import load_records

CUPY_PACKAGES = {"cupy-cuda11x": 11, "cupy-cuda12x": 12, "cupy-cuda13x": 13, "cupy": 0}
"""Packages of CuPy with their major CUDA version; ``cupy`` is built from source."""
VISIBLE = "CUDA_VISIBLE_DEVICES"

_SECONDS = 20
"""Time limit of nvidia-smi, which wakes all GPUs of the machine."""


@dataclass(frozen=True)
class Facts:
    """Facts about a machine."""

    packages: tuple[str, ...] = ()
    """Installed packages of CuPy."""
    cuda: tuple[int, int] | None = None
    """The newest CUDA version of the driver; None without a driver or CuPy."""
    seen: str = ""
    """The first GPU in nvidia-smi's output."""
    fault: str | None = None
    """Why CUDA finds no GPU; None if it finds one."""
    hidden: str | None = None
    """The value of ``CUDA_VISIBLE_DEVICES``."""
    colab: bool = False
    ncu: bool = False
    only_root_counts: bool = False
    """Whether the driver restricts counters to administrators, and this user is not one."""


def run_doctor(options: argparse.Namespace) -> int:
    """Print the capabilities of this machine, then advice."""
    facts = look()
    answers: dict[str, str] = {
        "Python": platform.python_version(),
        "CuPy": ", ".join(f"{version(one)} ({one})" for one in facts.packages) or "no",
        "compile": _try(lambda: "NVRTC " + ".".join(map(str, load_nvrtc().getVersion()))),
        "driver": "no" if facts.cuda is None else f"CUDA {facts.cuda[0]}.{facts.cuda[1]}",
        "run": _try(lambda: f"{current_device().name}, {device_target()}"),
        "counters": "ncu" if facts.ncu else "no",
        "kernels": _try(lambda: str(len(load_kernels()))),
        "records": _try(lambda: ", ".join(r.gpu.name for r in load_records()) or "none"),
    }
    to_do = list(advice(facts))
    if options.json:
        print_json({**answers, "advice": to_do})
        return 0
    print_table(["", ""], answers.items())
    for sentence in to_do:
        print(f"\n{sentence}")
    return 0


def look() -> Facts:
    """Collect the facts about this machine."""
    fault = None
    try:
        require_gpu()
    except LabError as missing:
        fault = str(missing)
    return Facts(
        packages=tuple(one for one in CUPY_PACKAGES if _is_installed(one)),
        cuda=_cuda_of_driver(),
        seen=_gpu_seen(),
        fault=fault,
        hidden=os.environ.get(VISIBLE),
        colab="COLAB_RELEASE_TAG" in os.environ,
        ncu=shutil.which("ncu") is not None,
        only_root_counts="RmProfilingAdminOnly: 1" in _text("/proc/driver/nvidia/params")
        and os.geteuid() != 0,
    )


def advice(facts: Facts) -> Iterator[str]:
    """Yield advice on problems of a machine."""
    newest = 13 if facts.cuda is not None and facts.cuda[0] >= 13 else 12
    fitting = f"cupy-cuda{newest}x"
    if not facts.packages:
        yield (
            "CuPy, which compiles and launches the kernels, is missing. Install it with "
            f"'pip install {fitting}'."
        )
    for package in facts.packages:
        if facts.cuda and CUPY_PACKAGES[package] > facts.cuda[0]:
            yield (
                f"The driver supports CUDA {facts.cuda[0]}.{facts.cuda[1]} at most, but {package} "
                f"needs {CUPY_PACKAGES[package]}.0. Install {fitting} instead, or a newer driver."
            )
    if facts.fault is not None:
        yield _about_no_gpu(facts)
    elif not facts.ncu:
        yield (
            "Nsight Compute (ncu) is missing. Only 'sgemm-lab counters' needs it; it is part of "
            "the CUDA toolkit."
        )
    elif facts.only_root_counts:
        yield (
            "The driver restricts counters to administrators. Run 'sgemm-lab counters' as root, or "
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0."
        )


def _about_no_gpu(facts: Facts) -> str:
    if facts.seen and facts.hidden is not None:
        return (
            f"There is a GPU, {facts.seen}, but {VISIBLE} is '{facts.hidden}', which hides it from "
            f"CUDA. Remove the variable: 'unset {VISIBLE}'."
        )
    if facts.seen:
        return (
            f"The driver finds {facts.seen}, but CUDA cannot use it: {facts.fault} Most often the "
            "driver is older than CuPy's CUDA, or was updated after the machine started. Restart "
            "the machine; if that does not help, install a newer driver."
        )
    if facts.colab:
        return (
            "This is Colab without a GPU: kernels are simulated, and speeds are those that were "
            "recorded. For a GPU choose Runtime, Change runtime type, T4 GPU. Then run all cells."
        )
    return (
        "There is no NVIDIA driver here. If the machine has an NVIDIA GPU, install its driver: in "
        "Windows if this is WSL; a container must be started with '--gpus all'. Without a GPU "
        "everything but speed works: 'sgemm-lab count', 'sgemm-lab check', the pages and the "
        "notebooks, which show records. Colab offers free GPUs."
    )


def _gpu_seen() -> str:
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.check_output(command, text=True, timeout=_SECONDS).partition("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return ""


def _cuda_of_driver() -> tuple[int, int] | None:
    try:
        number = int(import_cupy().cuda.runtime.driverGetVersion())
    except Exception:  # anything that CuPy or its libraries may raise at import
        return None
    return (number // 1000, number % 1000 // 10) if number else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _try(query: Callable[[], str]) -> str:
    try:
        return query()
    except LabError as error:
        return f"no. {error}"
