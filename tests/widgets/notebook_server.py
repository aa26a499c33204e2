"""A JupyterLab of its own for tests, with notebooks."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Page

# By default cells out of view are built when the browser is idle, which it may not be for long.
BUILD_ALL_CELLS = {"@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"}}


@contextmanager
def served_notebooks(
    folder: Path,
    notebooks: Mapping[str, Sequence[str]],
    settings: Mapping[str, Mapping[str, object]],
) -> Iterator[dict[str, str]]:
    """Yield the addresses of notebooks, by name, each with a code cell for each of its sources.

    Their kernels can import what lies beside this file. ``settings`` are those of JupyterLab's
    plugins, by the plugin's name.
    """
    for plugin, values in {**BUILD_ALL_CELLS, **settings}.items():
        file = folder / f"jupyter_config_dir/lab/user-settings/{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    for name, sources in notebooks.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(_notebook(sources)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(folder / name.lower()) for name in own}}
    tests = Path(__file__).parents[1]
    environment["PYTHONPATH"] = os.pathsep.join([str(tests / "samples"), str(tests / "widgets")])
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    options += [f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/status", server)
            root = f"http://127.0.0.1:{port}/doc/tree"
            yield {name: f"{root}/{name}.ipynb?reset" for name in notebooks}
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=10)
            server.kill()  # nothing, unless it hangs while it shuts its kernels down


def _notebook(sources: Sequence[str]) -> dict[str, object]:
    cells = [
        {
            "cell_type": "code", "id": f"cell-{i}", "source": source, "metadata": {}, "outputs": [],
            "execution_count": None,
        }
        for i, source in enumerate(sources)
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def open_notebook(page: Page, address: str) -> None:
    """Open a notebook and wait until its kernel can run cells."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_function(
        "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )


def run_cell(page: Page, cell: int) -> None:
    """Start one cell of the open notebook, without waiting for its end."""
    page.evaluate(
        """(cell) => {
             window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
             window.jupyterapp.commands.execute("notebook:run-cell");
           }""",
        cell,
    )


def _wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(150):
        assert server.poll() is None, "JupyterLab ended"
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("JupyterLab did not answer within 30 s.")
