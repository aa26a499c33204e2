"""Which process of the build runs which pages."""

import os

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def run_side_by_side(app: Sphinx) -> None:
    """Let pages be run and written on all cores, which Jupyter Book's command has no option for.

    Sphinx cuts the list of pages into portions before it begins. Of more portions than cores none
    is the one that all wait for.
    """
    app.parallel = 2 * (os.cpu_count() or 1)
    app.connect("env-before-read-docs", _deal_out)


def _deal_out(app: Sphinx, _env: BuildEnvironment, names: list[str]) -> None:
    """Deal pages out like cards: those that take long are neighbours, and part here."""
    portions = -(-len(names) // max(1, len(names) // app.parallel))
    names[:] = [name for first in range(portions) for name in names[first::portions]]
