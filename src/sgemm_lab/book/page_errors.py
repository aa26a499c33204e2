"""What ends a build while a page's cells run, as a sentence that names page, line and cause."""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myst_nb.core import execute  # type: ignore[import-untyped]
from myst_nb.core.execute import inline  # type: ignore[import-untyped]
from myst_nb.core.execute.base import ExecutionError  # type: ignore[import-untyped]
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from sphinx.errors import SphinxError
from traitlets import Integer

STARTUP_SECONDS = 300
"""How long a page's kernel may take to start: many start at once, and other work may run."""
_LOAD = "Other work may be using this machine. Run 'make book' again when it is idle."


class PageError(SphinxError):
    """A page's cells could not be run. The message names the page and the line."""

    category = "A page cannot be run"
    # Sphinx prints the qualified name of what another process raised.
    __module__ = "builtins"


def install() -> None:
    """Let pages be run by ``PageClient``, which ``myst_nb`` has no option for."""
    execute.NotebookClientInline = PageClient
    inline.ModifiedNotebookClient = _PatientClient


class _PatientClient(inline.ModifiedNotebookClient):  # type: ignore[misc]
    startup_timeout = Integer(STARTUP_SECONDS)


class PageClient(inline.NotebookClientInline):  # type: ignore[misc]
    """Runs a page's cells; its errors are of class ``PageError``."""

    def start_client(self) -> None:
        """Start the kernel."""
        with self._explained():
            super().start_client()

    def code_cell_outputs(self, cell_index: int) -> tuple[int | None, list[Any]]:
        """Return the outputs of a cell; run what comes before it first."""
        with self._explained():
            found: tuple[int | None, list[Any]] = super().code_cell_outputs(cell_index)
        return found

    def eval_variable(self, name: str) -> list[Any]:
        """Return what an expression in the text comes to."""
        with self._explained():
            found: list[Any] = super().eval_variable(name)
        return found

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (ExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
            raise PageError(self._sentence(error.__cause__ or error)) from error

    def _sentence(self, error: BaseException) -> str:
        path = Path(str(self.path))
        page = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        cell = getattr(self, "_last_cell_executed", -1)
        if isinstance(error, CellExecutionError) and cell >= 0:
            source = textwrap.indent(self.notebook["cells"][cell]["source"], "    ")
            return f"{page}, line {self.cell_line(cell)}: {error.ename}: {error.evalue}\n\n{source}"
        line = f", line {self.cell_line(cell)}" if cell >= 0 else ""
        if isinstance(error, CellTimeoutError):
            limit = self.nb_config.execution_timeout
            return f"{page}{line}: a cell took longer than {limit} seconds. {_LOAD}"
        if isinstance(error, DeadKernelError):
            return f"{page}{line}: the page's kernel ended. The machine may lack memory. {_LOAD}"
        return f"{page}{line}: the page's kernel does not answer: {error}. {_LOAD}"
