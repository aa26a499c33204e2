"""A widget with a kernel behind it, in JupyterLab: state goes to Python and back."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

CELLS = [
    "from widget_samples import CONSTANTS, GPUS, POINTS\n"
    "from sgemm_lab.widgets import Intensity, Roofline\n"
    "roofline = Roofline(GPUS, POINTS)\nroofline",
    "intensity = Intensity(CONSTANTS, GPUS)\nintensity",
    "print('kernel has', roofline.gpu, intensity.tile.bm)",
    "roofline.gpu = 't4'\nprint('done')",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a JupyterLab that shows one notebook with :data:`CELLS`."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{i}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for i, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "live.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(folder / name.lower()) for name in own}}
    environment["PYTHONPATH"] = str(Path(__file__).parent)
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
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(f"{address}/api/status", server)
            yield f"{address}/doc/tree/live.ipynb?reset"
        finally:
            server.terminate()


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(150):
        assert server.poll() is None, "JupyterLab ended"
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("JupyterLab did not answer within 30 s.")


def test_state_reaches_python_and_comes_back(lab: str, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1000, "height": 1600})
    page = context.new_page()
    page.set_default_timeout(40_000)
    page.goto(lab)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_function(
        "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )

    def run(cell: int) -> None:
        page.evaluate(
            """(cell) => {
                 window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
                 window.jupyterapp.commands.execute("notebook:run-cell");
               }""",
            cell,
        )

    run(0)
    page.wait_for_selector(".lab-roofline .lab-point")
    run(1)
    page.wait_for_selector(".lab-intensity .lab-number")

    page.locator(".lab-roofline select").select_option("a100")
    expect(page.locator(".lab-roofline .lab-point")).to_have_count(2)
    page.get_by_role("slider", name="BM").fill("4")
    run(2)
    expect(page.get_by_text("kernel has a100 256")).to_be_visible(timeout=20_000)

    run(3)
    expect(page.locator(".lab-roofline .lab-point")).to_have_count(0, timeout=20_000)
    expect(page.locator(".lab-roofline select")).to_have_value("t4")
    context.close()
