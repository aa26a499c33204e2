"""Bundles the TypeScript before a wheel is packed, and adds the compiler of host code."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundleHook(BuildHookInterface[Any]):
    """Hatch finds it by its base class."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundles, unless the wheel only points at the checkout."""
        if version != "editable":
            sys.path.insert(0, str(Path(self.root) / "src"))
            from sgemm_lab import bundles
            from sgemm_lab.clang.package import package_files

            bundles.build()
            files = package_files()
            chosen = [path for path in files.iterdir() if path.suffix in (".js", ".wasm", ".tar")]
            for path in (*chosen, files.parent / "package.json"):
                build_data["force_include"][str(path)] = f"sgemm_lab/shipped/clang/{path.name}"
