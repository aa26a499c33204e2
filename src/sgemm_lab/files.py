"""Where kernels and records live, and files that are written whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sgemm_lab.errors import LabError

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent.parent
"""The top of the checkout; meaningless where the package is installed as a wheel."""
SHIPPED = PACKAGE / "shipped"
"""Kernels and records inside the wheel. They are read there, and never written."""
SHIPPED_PTX = PACKAGE / "ptx"
"""The compiled text of the book's kernels, for machines without a compiler."""
SHIPPED_LOOPS = PACKAGE / "loops"
"""The main loops in machine code that pages show, for machines without compiler or disassembler."""
OTHER_DATA = "SGEMM_LAB_DATA"
"""The environment variable that names another folder with ``kernels`` or ``records`` in it."""


def data_folder(name: str) -> Path:
    """Return the folder called ``name``: "kernels", "records", or in a checkout "chapters".

    It is looked for in the folder that the environment variable ``SGEMM_LAB_DATA`` names, in the
    wheel, and in the checkout.

    Raises:
        LabError: it is in none of them.
    """
    other = os.environ.get(OTHER_DATA)
    for place in ([Path(other)] if other else []) + [SHIPPED, CHECKOUT]:
        if (place / name).is_dir():
            return place / name
    raise LabError(
        f"The folder '{name}' is missing. Install the package again, "
        "or run from a complete checkout of the book."
    )


def own_records() -> Path:
    """Return where new records go: the book's folder, or ``./records`` where it is installed."""
    found = data_folder("records")
    return Path("records") if found.parent == SHIPPED else found


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, whole or not at all; its folder is made if it is missing.

    Raises:
        LabError: the folder or the file cannot be written; what stood there is left as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            os.chmod(unfinished, 0o644)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as error:
        raise LabError(f"{path} cannot be written: {error.strerror}.") from None


def check_writable(folder: Path, room: int) -> None:
    """Find out whether a file of ``room`` bytes can be written to a folder, which is made.

    Raises:
        LabError: it cannot; the sentence says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(room))
            file.flush()
    except (FileExistsError, NotADirectoryError):
        raise LabError(f"{folder} is no folder. Name a folder for the record files.") from None
    except OSError as error:
        raise LabError(
            f"Nothing can be written to the folder {folder}: {error.strerror}."
        ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made if it is missing, while a file in it is read and written anew.

    Another process that asks for it waits. A file system without locks is used without.

    Raises:
        LabError: the folder cannot be made or opened.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = _open_lock(folder)
    except OSError as error:
        raise LabError(f"The folder {folder} cannot be used: {error.strerror}.") from None
    try:
        with suppress(OSError):
            _lock(handle)
        yield
    finally:
        os.close(handle)  # which gives the lock back


if sys.platform == "win32":
    import msvcrt

    def _open_lock(folder: Path) -> int:
        return os.open(folder / ".lock", os.O_CREAT | os.O_RDWR)

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _open_lock(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY)

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
