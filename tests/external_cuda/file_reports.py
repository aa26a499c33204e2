"""What a check says of the text of a CUDA file. Whole programs are in ``programs/``."""

from pathlib import Path
from typing import Any

from sgemm_lab.external_cuda import ExternalKernel, KernelReport, Options, Pasted, check_file
from sgemm_lab.external_cuda.program import Program, follow_program

FOLDER = Path(__file__).with_name("programs")


def program_text(name: str) -> str:
    return (FOLDER / f"{name}.cu").read_text(encoding="utf-8")


def reports(text: str, options: Options | None = None, **given: Any) -> list[KernelReport]:
    """Return the report on each kernel; ``given``: more of ``ExternalKernel``."""
    return list(check_file(ExternalKernel(Pasted("a.cu", text, Path()), **given), options))


def checked(text: str, options: Options | None = None, **given: Any) -> KernelReport:
    """Return the report on the only kernel."""
    (report,) = reports(text, options, **given)
    return report


def followed(text: str) -> Program:
    return follow_program(Pasted("a.cu", text, Path()))


def errors(program: Program) -> list[str]:
    """Return the messages of all errors that the program showed."""
    every = [one for found in program["findings"].values() for one in found]
    assert all(one["severity"] != "warning" for one in every)
    return [one["message"] for one in every if one["severity"] == "error"]
