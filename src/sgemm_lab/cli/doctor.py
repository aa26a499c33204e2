"""The command ``doctor``: capabilities of this machine, and advice on missing ones."""

import argparse
import csv
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
from sgemm_lab.cuda.compiler import TARGETS, import_cupy, load_nvrtc
from sgemm_lab.cuda.launch import current_device, device_target, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.records.store import load_records
from sgemm_lab.text import plural

CUPY_PACKAGES = {"cupy-cuda11x": 11, "cupy-cuda12x": 12, "cupy-cuda13x": 13, "cupy": None}
"""Packages of CuPy with their major CUDA version; ``cupy`` is built from source."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
OLDEST = TARGETS[0]

_QUERY = ("--query-gpu=name,compute_cap,mig.mode.current", "--format=csv,noheader")
_SECONDS = 20
"""Time limit of nvidia-smi, which wakes all GPUs of the machine."""


@dataclass(frozen=True)
class Seen:
    """A GPU in nvidia-smi's output."""

    name: str
    capability: str
    mig: bool
    """Whether Multi-Instance GPU is enabled."""


@dataclass(frozen=True)
class Facts:
    """Facts about a machine."""

    packages: tuple[str, ...] = ()
    """Installed packages of CuPy."""
    cuda: tuple[int, int] | None = None
    """The newest CUDA version of the driver; None without a driver or CuPy."""
    seen: tuple[Seen, ...] = ()
    fault: str | None = None
    """Why CUDA finds no GPU; None if it finds one."""
    hidden: str | None = None
    """The value of ``CUDA_VISIBLE_DEVICES``."""
    colab: bool = False
    wsl: bool = False
    container: bool = False
    ncu: bool = False
    only_root_counts: bool = False
    """Whether the driver restricts counters to administrators, and this user is not one."""


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``doctor``: none."""
    parser.set_defaults(run=run_doctor)


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
        seen=gpus_seen(_nvidia_smi()),
        fault=fault,
        hidden=os.environ.get(VISIBLE),
        colab="COLAB_RELEASE_TAG" in os.environ,
        wsl="microsoft" in _text("/proc/version").lower(),
        container=Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
        ncu=shutil.which("ncu") is not None,
        only_root_counts=_only_root_counts(),
    )


def advice(facts: Facts) -> Iterator[str]:
    """Yield advice on problems of a machine."""
    yield from _about_cupy(facts)
    if facts.fault is not None:
        yield _about_no_gpu(facts)
        return
    if len(facts.seen) > 1:
        names = ", ".join(f"{number} {one.name}" for number, one in enumerate(facts.seen))
        yield (
            f"There are {len(facts.seen)} GPUs here: {names}. The first that CUDA shows is taken. "
            f"'{VISIBLE}=1 sgemm-lab record' takes number 1."
        )
    if any(one.mig for one in facts.seen):
        yield (
            "The GPU is cut into slices (MIG). A slice has a part of the SMs and of the memory, so "
            "its record is not a record of the whole GPU. Mention it when you add the record."
        )
    old = [one for one in facts.seen if _number(one.capability) < _number(OLDEST[3:])]
    if old:
        yield (
            f"{old[0].name} has compute capability {old[0].capability}. The kernels are built for "
            f"{OLDEST} and newer. They can be counted and checked here without the GPU."
        )
    yield from _about_counters(facts)


def _about_cupy(facts: Facts) -> Iterator[str]:
    if len(facts.packages) > 1:
        both = " and ".join(facts.packages)
        yield (
            f"CuPy is installed {plural(len(facts.packages), 'time')}, as {both}, which conflict. "
            f"Remove them with 'pip uninstall {' '.join(facts.packages)}', then "
            "install one."
        )
    newest = 13 if facts.cuda is not None and facts.cuda[0] >= 13 else 12
    fitting = f"cupy-cuda{newest}x"
    if not facts.packages:
        yield (
            "CuPy, which compiles and launches the kernels, is missing. Install it with "
            f"'pip install {fitting}'."
        )
    made_for = [CUPY_PACKAGES[one] for one in facts.packages]
    if len(made_for) == 1 and facts.cuda and made_for[0] and made_for[0] > facts.cuda[0]:
        major, minor = facts.cuda
        yield (
            f"The driver supports CUDA {major}.{minor} at most, but {facts.packages[0]} needs "
            f"{made_for[0]}.0. Install {fitting} instead, or a newer driver."
        )


def _about_no_gpu(facts: Facts) -> str:
    if facts.seen and facts.hidden is not None:
        return (
            f"There is a GPU, {facts.seen[0].name}, but {VISIBLE} is '{facts.hidden}', which hides "
            f"it from CUDA. Remove the variable: 'unset {VISIBLE}'."
        )
    if facts.seen:
        return (
            f"The driver finds {facts.seen[0].name}, but CUDA cannot use it: {facts.fault} Most "
            "often the driver is older than CuPy's CUDA, or was updated since the machine started. "
            "Restart the machine; if that does not help, install a newer driver."
        )
    if facts.colab:
        return (
            "This is Colab without a GPU: kernels are simulated, and speeds are those that were "
            "recorded. For a GPU choose Runtime, Change runtime type, T4 GPU. Then run all cells."
        )
    if facts.container:
        return (
            "This is a container without a GPU. If the host has one, start the container with "
            "'--gpus all'; the host needs NVIDIA's Container Toolkit."
        )
    if facts.wsl:
        return (
            "This is Linux in Windows (WSL) without a GPU. Install NVIDIA's driver in Windows, not "
            "in Linux, and run 'wsl --update'. Then 'nvidia-smi' shows the GPU here."
        )
    return (
        "There is no NVIDIA driver here. If the machine has an NVIDIA GPU, install its driver. "
        "Without a GPU everything but speed works: 'sgemm-lab count', 'sgemm-lab check', the pages "
        "and the notebooks, which show records. Colab offers free GPUs."
    )


def _about_counters(facts: Facts) -> Iterator[str]:
    if not facts.ncu:
        yield (
            "Nsight Compute (ncu) is missing. Only 'sgemm-lab counters' needs it; it is part of "
            "the CUDA toolkit."
        )
    elif facts.only_root_counts:
        yield (
            "The driver restricts counters to administrators. Run 'sgemm-lab counters' as root, or "
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0."
        )


def gpus_seen(answer: str) -> tuple[Seen, ...]:
    """Parse nvidia-smi's output of ``--query-gpu=name,compute_cap,mig.mode.current``."""
    rows = (row for row in csv.reader(answer.splitlines(), skipinitialspace=True) if len(row) == 3)
    return tuple(Seen(name, capability, mig == "Enabled") for name, capability, mig in rows)


def _nvidia_smi() -> str:
    try:
        done = subprocess.run(
            ["nvidia-smi", *_QUERY], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _cuda_of_driver() -> tuple[int, int] | None:
    try:
        number = int(import_cupy().cuda.runtime.driverGetVersion())
    except Exception:  # anything that CuPy or its libraries may raise at import
        return None
    return (number // 1000, number % 1000 // 10) if number else None


def _only_root_counts() -> bool:
    return "RmProfilingAdminOnly: 1" in _text("/proc/driver/nvidia/params") and os.geteuid() != 0


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(capability: str) -> int:
    return int(capability.replace(".", "") or 0)


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
