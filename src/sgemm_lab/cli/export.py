"""The command ``export``: a kernel as one CUDA file that ``nvcc`` compiles."""

import argparse
from pathlib import Path

from sgemm_lab.checking.export import build_command, exported
from sgemm_lab.cli.arguments import named_kernel, size
from sgemm_lab.cli.printing import print_json
from sgemm_lab.cuda.archive import file_stem
from sgemm_lab.errors import LabError
from sgemm_lab.files import read_source, write_whole


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``export``."""
    parser.add_argument("kernel", metavar="KERNEL", help="name, such as tiled:TILE=16, or a file")
    parser.add_argument(
        "--size", type=size, metavar="M,N,K", default=(4096, 4096, 4096),
        help="the size that the program times; default: 4096",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", default=Path(),
        help="folder of the file; default: this one",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace a file of the same name")


def run_export(options: argparse.Namespace) -> int:
    """Write the file and print how to compile it."""
    kernel = named_kernel(options.kernel)
    path, text = options.out / f"{file_stem(kernel)}.cu", exported(kernel, options.size)
    if not options.force and path.exists() and read_source(path) != text:
        raise LabError(
            f"The file {path} exists and differs. Give another folder with --out, "
            "or replace the file with --force."
        )
    write_whole(path, text)
    command = build_command(kernel)
    if options.json:
        print_json({"kernel": kernel.name, "file": str(path), "command": command})
    else:
        print(f"Wrote {path}. Compile it with:\n  {command}")
    return 0
