"""The ladders in JupyterLab: the form runs kernels in Python, and state goes there and back."""

from pathlib import Path

from notebook_server import open_notebook, run_cell, served_notebook
from playwright.sync_api import Browser, expect

WAIT = 20_000
"""Milliseconds that Python may take to answer."""

CELLS = [
    "from ladder_samples import ladder, memory\nfrom live_runner import run\n"
    "rungs = ladder(run=run)\nrungs",
    "levels = memory()\nlevels",
    "print('kernel has', rungs.gpu, rungs.size[0], len(rungs.shown), levels.show)",
    "rungs.measure = 'gflops'\nlevels.gpu = 't4'",
    "still = ladder()\nstill",
]


def test_the_form_runs_kernels_and_state_comes_back(tmp_path: Path, chromium: Browser) -> None:
    with served_notebook(tmp_path, CELLS) as address:
        context = chromium.new_context(viewport={"width": 1000, "height": 2400})
        page = context.new_page()
        page.set_default_timeout(40_000)
        open_notebook(page, address)
        run_cell(page, 0)
        form = page.get_by_role("form", name="Run on your GPU")
        expect(form).to_be_visible(timeout=WAIT)
        run_cell(page, 1)
        page.wait_for_selector(".lab-memory .lab-level")

        form.get_by_role("combobox", name="Kernel").select_option("strip")
        form.get_by_role("button", name="Run").click()
        expect(form.get_by_role("alert")).to_have_text(
            "K is 4096, and this kernel takes up to 192.", timeout=WAIT
        )

        form.get_by_role("combobox", name="Kernel").select_option("double")
        form.get_by_role("combobox", name="Size").select_option(label="256³")
        form.get_by_role("button", name="Run").click()
        expect(form.get_by_role("alert")).to_have_text("", timeout=WAIT)
        expect(form.locator(".lab-told")).to_have_text(
            "Double buffer: compiled, now measured", timeout=WAIT
        )
        expect(form.get_by_role("progressbar")).to_be_visible(timeout=WAIT)
        (tmp_path / "go").touch()
        expect(form.locator(".lab-told")).to_have_text("Done.", timeout=WAIT)
        value = page.locator('.lab-rung[data-name="double"] .lab-value').first
        expect(value).to_have_text("50 %", timeout=WAIT)

        page.get_by_role("radio", name="latency").check()
        run_cell(page, 2)
        expect(page.get_by_text("kernel has t4 256 1 latency")).to_be_visible(timeout=WAIT)
        run_cell(page, 3)
        expect(value).to_have_text("40,000", timeout=WAIT)
        expect(page.locator(".lab-memory").get_by_role("combobox", name="GPU")).to_have_value(
            "t4", timeout=WAIT
        )

        run_cell(page, 4)
        expect(page.locator(".lab-ladder")).to_have_count(2, timeout=WAIT)
        expect(page.get_by_role("form", name="Run on your GPU")).to_have_count(1, timeout=WAIT)
        context.close()
