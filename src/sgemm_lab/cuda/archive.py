"""The archive of compiled texts: PTX of the book's kernels, and SASS of the main loops on pages.

One zip file, compressed with LZMA, so that machines without a compiler can count kernels and build
the book. Each member is ``KERNEL.ptx`` or ``KERNEL.sass``; its comment is a hash of the source.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from sgemm_lab.files import PACKAGE, write_whole
from sgemm_lab.kernel import Kernel

ARCHIVE = PACKAGE / "compiled.zip"

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip file can express: equal members give equal files."""


def read(kernel: Kernel, suffix: str) -> str | None:
    """Return the text of a kernel, "ptx" or "sass"; None if the archive has none."""
    if not ARCHIVE.is_file():
        return None
    with zipfile.ZipFile(ARCHIVE) as file:
        try:
            return file.read(_member(kernel, suffix)).decode()
        except KeyError:
            return None


def is_current(kernel: Kernel, suffix: str) -> bool:
    """Whether the archive has a text of a kernel, made of exactly this source."""
    return sources(suffix).get(_member(kernel, suffix)) == source_hash(kernel)


def sources(suffix: str) -> dict[str, str]:
    """Return the source hash of each member with a suffix, by the member's name."""
    if not ARCHIVE.is_file():
        return {}
    with zipfile.ZipFile(ARCHIVE) as file:
        members = [info for info in file.infolist() if info.filename.endswith(f".{suffix}")]
        return {info.filename: info.comment.decode() for info in members}


def source_hash(kernel: Kernel) -> str:
    """Return a hash of a kernel's source, comments and line breaks included."""
    return hashlib.sha256(kernel.source.encode()).hexdigest()[:16]


def write(suffix: str, texts: Mapping[Kernel, str]) -> None:
    """Replace all members with a suffix, "ptx" or "sass", and print how many there are.

    The file is written only if a member changes: its bytes depend on the version of the packer.
    """
    old = _members()
    new = {name: one for name, one in old.items() if not name.endswith(f".{suffix}")}
    for kernel, text in texts.items():
        new[_member(kernel, suffix)] = (source_hash(kernel), text)
    if new != old:
        write_whole(ARCHIVE, _packed(new))
    size = ARCHIVE.stat().st_size / 1000
    print(f"{ARCHIVE.name} has {len(texts)} {suffix.upper()} texts, {size:,.0f} kB in all.")


def file_stem(kernel: Kernel) -> str:
    """Return a kernel's name as one of a file: "tiled-TILE16" for "tiled:TILE=16"."""
    constants = kernel.name.partition(":")[2].replace("=", "").replace(",", "-")
    stem = Path(kernel.base_name).stem
    return f"{stem}-{constants}" if constants else stem


def _members() -> dict[str, tuple[str, str]]:
    """Return source hash and text of each member."""
    if not ARCHIVE.is_file():
        return {}
    with zipfile.ZipFile(ARCHIVE) as file:
        return {
            info.filename: (info.comment.decode(), file.read(info).decode())
            for info in file.infolist()
        }


def _packed(members: Mapping[str, tuple[str, str]]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        for name, (made_of, text) in sorted(members.items()):
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.compress_type = zipfile.ZIP_LZMA
            info.comment = made_of.encode()
            file.writestr(info, text)
    return buffer.getvalue()


def _member(kernel: Kernel, suffix: str) -> str:
    return f"{file_stem(kernel)}.{suffix}"
