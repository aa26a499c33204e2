"""Where kernels and records live, and files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from sgemm_lab.errors import LabError

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent.parent
"""The top of the checkout; meaningless where the package is installed as a wheel."""
SHIPPED_PTX = PACKAGE / "ptx"
"""The compiled text of the book's kernels, for machines without a compiler."""


def data_folder(name: str) -> Path:
    """Return the folder called ``name``: "kernels", "records", or in a checkout "chapters".

    Raises:
        LabError: the folder is neither in the wheel nor in a checkout.
    """
    candidates = (PACKAGE / "shipped" / name, CHECKOUT / name)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise LabError(
        f"The folder '{name}' is missing. Install the package again, "
        "or run from a complete checkout of the book."
    )


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all; its folder is made if it is missing.

    Raises:
        LabError: the folder or the file cannot be written; what stood there is left as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(unfinished, 0o644)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as error:
        raise LabError(f"{path} cannot be written: {error.strerror}.") from None
