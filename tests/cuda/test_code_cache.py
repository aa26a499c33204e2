"""Machine code is compiled once, kept whole, and made anew where the copy cannot be used."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import code_cache, compiler
from sgemm_lab.cuda.code_cache import FOLDER, MachineCode, cached
from sgemm_lab.errors import LabError

CODE = MachineCode("ptx\n// \u03b1", bytes(range(256)) * 20, "Used 8 registers\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def never() -> MachineCode:
    raise AssertionError("It was compiled again.")


def test_each_key_is_compiled_once(folder: Path) -> None:
    other = CODE._replace(cubin=b"other")
    assert cached(("source", "sm_90"), lambda: CODE) == CODE
    assert cached(("source", "sm_80"), lambda: other) == other
    assert cached(("source", "sm_90"), never) == CODE
    assert cached(("source", "sm_80"), never) == other
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("keep", [0, 10, 31, 32, 100, -1])
def test_a_damaged_entry_is_replaced(folder: Path, keep: int) -> None:
    cached(("key",), lambda: CODE)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:keep])
    assert cached(("key",), lambda: CODE) == CODE
    assert entry.read_bytes() == whole
    entry.write_bytes(whole[:-1] + b"!")
    assert cached(("key",), lambda: CODE) == CODE
    assert cached(("key",), never) == CODE


def test_what_does_not_compile_is_not_kept(folder: Path) -> None:
    def refused() -> MachineCode:
        raise LabError("Line 1: no.")

    for _ in range(2):
        with pytest.raises(LabError, match="Line 1"):
            cached(("key",), refused)
    assert not folder.exists()


def test_a_folder_that_cannot_be_used_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER, str(tmp_path / "file" / "below"))
    assert cached(("key",), lambda: CODE) == CODE
    monkeypatch.setenv(FOLDER, "")
    assert cached(("key",), lambda: CODE) == CODE
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert code_cache.cache_folder() == tmp_path / "sgemm-lab"


def test_the_older_half_is_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "MOST_ENTRIES", 4)
    for number in range(5):
        cached((str(number),), lambda: CODE)
    assert len(list(folder.iterdir())) == 3
    assert cached(("4",), never) == CODE


def test_several_threads_write_one_entry(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cached(("key",), lambda: CODE), range(64)))
    assert set(found) == {CODE}
    assert len(list(folder.iterdir())) == 1


SHOW = """
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import compiler
from sgemm_lab.cuda.compiler import compile_kernel
if {warm}:
    compiler._program = None  # nothing is compiled
kernel = load_kernel("naive").with_constants(BM=16)
print(compile_kernel(kernel).registers, len(compile_kernel(kernel).cubin))
"""


def test_a_later_process_compiles_nothing(folder: Path) -> None:
    def process(*, warm: bool) -> str:
        command = [sys.executable, "-c", SHOW.format(warm=warm)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    first = process(warm=False)
    assert first
    assert process(warm=True) == first


def test_another_source_target_or_compiler_is_another_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler._machine_code.cache_clear()
    naive = load_kernel("naive")
    for kernel, target in (
        (naive, "sm_90"),
        (naive, "sm_80"),
        (naive.with_constants(BM=16), "sm_90"),
    ):
        compiler.compile_kernel(kernel, target)
    assert len(list(folder.iterdir())) == 3
    compiler._machine_code.cache_clear()
    nvrtc = compiler.load_nvrtc()

    class Newer:
        def __getattr__(self, name: str) -> object:
            return getattr(nvrtc, name)

        def getVersion(self) -> tuple[int, int]:  # noqa: N802
            return 99, 0

    monkeypatch.setattr(compiler, "load_nvrtc", Newer)
    compiler.compile_kernel(naive, "sm_90")
    assert len(list(folder.iterdir())) == 4
