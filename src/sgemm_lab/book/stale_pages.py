"""All pages are read again when what their cells run has changed, and after a warning."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx

from sgemm_lab.files import PACKAGE, data_folder

INPUTS = "sgemm_lab_inputs"
"""The setting that has the fingerprint: Sphinx reads all pages again where it is another."""


def forget_warnings(app: Sphinx, _error: Exception | None) -> None:
    """Let the next build read all pages after a warning, or it would pass in silence."""
    if app._warncount:
        (Path(app.doctreedir) / ENV_PICKLE_FILENAME).unlink(missing_ok=True)


def fingerprint() -> str:
    """Return one hash of the names and contents of all inputs."""
    whole = hashlib.sha256()
    for path in sorted(inputs()):
        content = path.read_bytes()
        whole.update(f"{path}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def inputs() -> Iterator[Path]:
    """Return every file, other than the page itself, that decides what a page shows."""
    yield from data_folder("kernels").glob("*.cu*")
    yield from data_folder("records").glob("*.json")
    for suffix in ("py", "ts", "h", "css", "html", "json", "toml", "svg", "zip"):
        found = PACKAGE.rglob(f"*.{suffix}")
        yield from (path for path in found if "node_modules" not in path.parts)
