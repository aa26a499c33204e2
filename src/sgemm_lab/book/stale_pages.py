"""Which pages must be read again: all of them, when what their cells run has changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from sgemm_lab.files import PACKAGE, data_folder

_STAMP = "sgemm-lab-inputs.sha256"


def pages_to_read_again(
    app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> set[str]:
    """Return every page if a kernel, a record or the package changed since the last build."""
    stamp = Path(app.doctreedir) / _STAMP
    now = fingerprint(inputs())
    before = stamp.read_text(encoding="ascii") if stamp.exists() else None
    if now == before:
        return set()
    stamp.unlink(missing_ok=True)

    def remember(app: Sphinx, error: Exception | None) -> None:
        # After a warning too, pages are read again, or the next build would pass in silence.
        if error is None and not app._warncount:
            stamp.write_text(now, encoding="ascii")

    app.connect("build-finished", remember)
    return set(env.found_docs)


def fingerprint(files: Iterator[Path]) -> str:
    """Return one hash of the names and contents of ``files``."""
    whole = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        whole.update(f"{path}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def inputs() -> Iterator[Path]:
    """Return every file, other than the page itself, that decides what a page shows."""
    yield from data_folder("kernels").glob("*.cu*")
    yield from data_folder("records").glob("*.json")
    for suffix in ("py", "ts", "css", "html", "json", "svg", "zip"):
        found = PACKAGE.rglob(f"*.{suffix}")
        yield from (path for path in found if "node_modules" not in path.parts)
