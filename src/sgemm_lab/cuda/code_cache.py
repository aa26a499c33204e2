"""Machine code cached on disk, by the content that it was compiled from.

An entry's name is a hash of everything that NVRTC is given and of its version, so an entry never
becomes stale. Entries are written atomically: several processes may use the cache at once. A
damaged entry, or a folder that cannot be used, means to compile again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sgemm_lab.errors import LabError
from sgemm_lab.files import write_whole

FOLDER = "SGEMM_LAB_CACHE"
"""Environment variable with the folder of the cache; empty: nothing is cached."""

MOST_ENTRIES = 2000
"""A write beyond this number deletes the older half."""

_SUFFIX = ".code"
_HASH_BYTES = hashlib.sha256().digest_size


class MachineCode(NamedTuple):
    """What NVRTC makes of a whole source."""

    ptx: str
    cubin: bytes
    log: str


def cached(key: Sequence[str], compiled: Callable[[], MachineCode]) -> MachineCode:
    """Return the machine code of a key; compile and keep it if it is not in the cache.

    The texts of ``key`` determine the machine code. What ``compiled`` raises is not kept.
    """
    folder = cache_folder()
    if folder is None:
        return compiled()
    path = folder / (hashlib.sha256(json.dumps(key).encode()).hexdigest() + _SUFFIX)
    if (found := _read(path)) is not None:
        return found
    made = compiled()
    with suppress(LabError, OSError):
        write_whole(path, _content(made))
        _delete_old(folder)
    return made


def cache_folder() -> Path | None:
    """Return the cache's folder, which may not exist; None if nothing is cached."""
    if (given := os.environ.get(FOLDER)) is not None:
        return Path(given) if given else None
    with suppress(RuntimeError):  # there is no home folder
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sgemm-lab"
    return None


def _content(code: MachineCode) -> bytes:
    texts = json.dumps([code.ptx, code.log]).encode()  # holds no line end
    body = texts + b"\n" + code.cubin
    return hashlib.sha256(body).digest() + body


def _read(path: Path) -> MachineCode | None:
    """Return an entry, or None if there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = content[_HASH_BYTES:]
    if hashlib.sha256(body).digest() != content[:_HASH_BYTES]:
        return None
    texts, _, cubin = body.partition(b"\n")
    ptx, log = json.loads(texts)
    return MachineCode(ptx, cubin, log)


def _delete_old(folder: Path) -> None:
    entries = list(folder.glob(f"*{_SUFFIX}"))
    if len(entries) > MOST_ENTRIES:
        entries.sort(key=lambda path: path.stat().st_mtime)
        for path in entries[: len(entries) // 2]:
            path.unlink(missing_ok=True)
