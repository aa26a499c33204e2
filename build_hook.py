"""Bundles the TypeScript before a wheel is packed."""

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

            bundles.build()
