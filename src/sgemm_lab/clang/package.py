"""The compiler's package, and the files of a site that pages fetch it from.

npm brings the package, by the hash in the lock file. A site has it packed, 23 MB, beside its
licences; pages fetch it when a reader first runs an edit.
"""

import gzip
import json
import shutil
from pathlib import Path

from sgemm_lab import npm
from sgemm_lab.files import CHECKOUT, PACKAGE, SHIPPED, write_whole

NAME = "@yowasp/clang"
_LICENCES = "LICENSES.txt"
_MANIFEST = "manifest.json"
SCRIPT = "bundle.js"
_PACKING = 6
"""The level at which gzip packs: the highest takes twice as long for 0.5 % less."""


def version() -> str:
    """Return the version of the package that the lock file names."""
    return str(npm.locked()[f"node_modules/{NAME}"]["version"])


def package_files(folder: Path = CHECKOUT) -> Path:
    """Return the folder with the package's files; a wheel has them.

    Raises:
        MissingToolError: it was not fetched, or another version was.
    """
    shipped = SHIPPED / "clang"
    if shipped.is_dir():
        return shipped
    npm.require(folder)
    return folder / "node_modules" / NAME / "gen"


def write_site(folder: Path) -> dict[str, int]:
    """Write what pages fetch into a folder; return the bytes of each file that is counted.

    WebAssembly is packed, and the headers and libraries for host code, which are not counted; the
    script that drives it is not. ``manifest.json`` names version and sizes.
    """
    package = package_files()
    folder.mkdir(parents=True, exist_ok=True)
    sizes = _written(sorted(package.glob("*.wasm")), folder)
    headers = _written([package / "llvm-resources.tar"], folder)
    shutil.copyfile(package / SCRIPT, folder / SCRIPT)
    shutil.copyfile(PACKAGE / "clang" / _LICENCES, folder / _LICENCES)
    manifest = json.dumps({"version": version(), "files": sizes, "headers": headers}, indent=1)
    (folder / _MANIFEST).write_text(f"{manifest}\n", encoding="utf-8")
    return sizes


def _written(paths: list[Path], folder: Path) -> dict[str, int]:
    """Write files packed; return the bytes of each."""
    sizes = {}
    for path in paths:
        packed = folder / f"{path.name}.gz"
        shutil.copyfile(_packed(path), packed)
        sizes[packed.name] = packed.stat().st_size
    return sizes


def _packed(path: Path) -> Path:
    """Return a packed copy of a file of the package, made once: packing takes seconds."""
    packed = path.with_name(f"{path.name}.gz")
    if not packed.exists():
        # Without the time of packing the same package gives the same bytes.
        write_whole(packed, gzip.compress(path.read_bytes(), _PACKING, mtime=0))
    return packed
