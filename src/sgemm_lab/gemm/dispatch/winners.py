"""The kernels that measurements of first products chose, on disk: a file per GPU model.

A file's name holds a hash of the GPU and of the text of all kernels, so an entry never becomes
stale. A line is an entry, and is appended by one write: several processes may use a file at once.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from sgemm_lab.cuda.code_cache import cache_folder
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.gpu_record import Device

MOST_BYTES = 2**20
"""A larger file gets no further entries."""

Key = tuple[Size, bool]
"""M, N, K, and whether the matrices begin where float4 can read them."""


def winners_path(gpu: Device, mode: str, kernels: Iterable[Kernel]) -> Path | None:
    """Return the file of a GPU and a mode of tuning; None if nothing is kept on disk."""
    folder = cache_folder()
    if folder is None:
        return None
    texts = [gpu.name, gpu.sms, mode, sorted((one.name, one.fingerprint) for one in kernels)]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    name = re.sub(r"[^a-z0-9]+", "-", gpu.name.lower())[:40].strip("-")
    return folder / f"first-products-{name}-{digest}.jsonl"


class Winners:
    """Names of kernels by size and alignment."""

    def __init__(self, path: Path | None) -> None:
        """Read a file, which need not exist; None: nothing is kept on disk.

        There is a warning if lines cannot be read; these are skipped.
        """
        self._path = path
        self._names: dict[Key, str] = {}
        self._bytes = 0
        if path is not None and path.exists():
            self._read(path)

    def get(self, key: Key) -> str | None:
        """Return the name that is kept for a key."""
        return self._names.get(key)

    def add(self, key: Key, name: str) -> None:
        """Keep a name. There is a warning if it cannot be written: then it lasts as the process."""
        self._names[key] = name
        if self._path is None or self._bytes > MOST_BYTES:
            return
        (m, n, k), aligned = key
        line = f"{json.dumps([m, n, k, aligned, name])}\n".encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError as error:
            warnings.warn(
                f"{self._path} cannot be written: {error.strerror}. What first products choose is "
                "remembered by this process only.",
                stacklevel=2,
            )
            self._path = None
        self._bytes += len(line)

    def _read(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            warnings.warn(
                f"{path} cannot be read: {error.strerror}. First products are measured again.",
                stacklevel=2,
            )
            return
        self._bytes = len(content)
        broken = 0
        for line in content.splitlines():
            try:
                m, n, k, aligned, name = json.loads(line)
                self._names[(int(m), int(n), int(k)), bool(aligned)] = str(name)
            except (ValueError, TypeError):
                broken += 1
        if broken:
            warnings.warn(
                f"{path} has {broken} lines that cannot be read. Their shapes are measured again. "
                "Delete the file to lose this warning.",
                stacklevel=2,
            )
