"""Check the TypeScript: types, lint and format. Run as a script.

``python tests/typescript.py --fix`` writes the format instead of checking it. TypeScript and biome
are npm packages; Node to run them comes as a Python wheel.
"""

import sys

from sgemm_lab import bundles, npm


def check(*options: str) -> int:
    """Return 0 if biome and TypeScript find nothing."""
    biome = npm.node("node_modules/@biomejs/biome/bin/biome", "check", *options)
    typescript = npm.node("node_modules/typescript/bin/tsc", "--pretty", "false")
    return max(biome.returncode, typescript.returncode)


def main() -> int:
    fix = "--fix" in sys.argv[1:]
    npm.fetch(checks=True)
    bundles.write_types()
    failed = check("--write" if fix else "--error-on-warnings")
    if failed and not fix:
        print("If it is only the format: python tests/typescript.py --fix writes it.")
    return failed


if __name__ == "__main__":
    sys.exit(main())
