"""The site as one zip file, to be unpacked and read from disk.

``python -m sgemm_lab.book.site_zip`` makes it from ``_build/html``; ``make zip`` builds that first.
"""

import io
import sys
import zipfile
from pathlib import Path

from sgemm_lab.book.panels import COMPILER
from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

FOLDER = "fast-matrix-multiplication"
"""What the archive unpacks into."""

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


def write(site: Path, out: Path) -> int:
    """Write all files of a built site into a zip file; return how many.

    The compiler of the pages stays out: a browser does not load it from disk. The same site gives
    the same bytes.

    Raises:
        LabError: the site was not built, or the file cannot be written.
    """
    if not (site / "index.html").is_file():
        raise LabError(f"There is no {site / 'index.html'}. Build the book first: make book.")
    names = [path.relative_to(site) for path in sorted(site.rglob("*")) if path.is_file()]
    kept = [name for name in names if name.parts[:2] != ("_static", COMPILER)]
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in kept:
            entry = zipfile.ZipInfo(f"{FOLDER}/{name.as_posix()}", _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _MODE
            archive.writestr(entry, (site / name).read_bytes())
    write_whole(out, whole.getvalue())
    return len(kept)


def main() -> None:
    """Pack the book of this checkout and say where the file is."""
    out = Path.cwd() / "_build" / f"{FOLDER}.zip"
    try:
        count = write(Path.cwd() / "_build" / "html", out)
    except LabError as refused:
        sys.exit(str(refused))
    print(f"{count} files, {out.stat().st_size / 1e6:.1f} MB: {out}. Unpack it, open index.html.")


if __name__ == "__main__":
    main()
