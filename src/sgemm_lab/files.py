"""Folders of kernels and records, atomic writes, and locks."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sgemm_lab.errors import LabError

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent.parent
"""The root of the checkout; meaningless if the package is installed from a wheel."""
BUNDLES = PACKAGE / "bundles"
"""What ``bundles`` builds of the TypeScript."""
SHIPPED = PACKAGE / "shipped"
"""Read-only kernels and records in the wheel."""
OTHER_DATA = "SGEMM_LAB_DATA"
"""Environment variable with another folder that contains ``kernels`` or ``records``."""


def data_folder(name: str) -> Path:
    """Return the folder ``name``: "kernels", "records", or in a checkout "chapters".

    It is searched for in the folder in ``SGEMM_LAB_DATA``, in the wheel, and in the checkout.

    Raises:
        LabError: there is no such folder.
    """
    other = os.environ.get(OTHER_DATA)
    for place in ([Path(other)] if other else []) + [SHIPPED, CHECKOUT]:
        if (place / name).is_dir():
            return place / name
    raise LabError(
        f"The folder '{name}' is missing. Install the package again, "
        "or run from a complete checkout of the book."
    )


def bundle(name: str) -> Path:
    """Return the file of a bundle, such as ``pages/panel.js``."""
    path = BUNDLES / name
    if not path.is_file():
        raise LabError(
            f"The bundle {name} is missing. Build it with 'python -m sgemm_lab.bundles', "
            "or install the package again."
        )
    return path


def own_records() -> Path:
    """Return the folder for new records: the book's, or ``./records`` with an installed package."""
    found = data_folder("records")
    return Path("records") if found.parent == SHIPPED else found


def read_source(path: Path) -> str:
    """Return the text of a source file in UTF-8 without a byte-order mark; U+FFFD for other bytes.

    Raises:
        LabError: the file cannot be read, or is no text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise LabError(f"The file {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise LabError(f"'{path}' is no name of a file: {error}.") from None
    if "\0" in text:
        raise LabError(f"The file {path} is no text.")
    return text


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, text as UTF-8; create its folder if necessary.

    Raises:
        LabError: the folder or the file cannot be written; an existing file is not changed.
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file that is read, changed and written; other processes wait. Create its folder.

    Raises:
        LabError: the folder cannot be written.
    """
    from filelock import FileLock  # takes as long to import as what else a command needs

    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise LabError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        yield
    finally:
        lock.release()


def check_writable(folder: Path, size: int = 2**22) -> None:
    """Check that a file of ``size`` bytes can be written to a folder; create the folder.

    Records are checked so before minutes of measurements; the default is far more than they need.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(size))
            file.flush()
    except (FileExistsError, NotADirectoryError):
        raise LabError(f"{folder} is not a folder. Give a folder for the record files.") from None
    except OSError as error:
        raise LabError(
            f"Nothing can be written to the folder {folder}: {error.strerror}."
        ) from None
