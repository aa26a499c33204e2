"""A browser with a card: SwiftShader, which runs WebGPU on the processor. It serves the modules."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from serving import address_of
from sgemm_lab.bundles import bundled
from sgemm_lab.files import PACKAGE

MODULES = ("webgpu_device", "checking", "webgpu_benchmark", "products")
LOADED = "".join(f'import {name} from "./{name}.mjs";\n' for name in MODULES)
PAGE = f"""<!doctype html><title>A card</title><script type="module">
{LOADED}window.lab = {{ {", ".join(MODULES)} }};
</script>"""


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a page with the modules of the room; a card asks for a served page."""
    folder: Path = tmp_path_factory.mktemp("wgsl")
    for name in MODULES:
        (folder / f"{name}.mjs").write_text(bundled(PACKAGE / "wgsl" / f"{name}.ts"), "utf-8")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    with address_of(folder) as address:
        yield f"{address}/page.html"


@pytest.fixture(scope="session")
def with_card(chromium_with_card: Browser, modules: str) -> Iterator[Page]:
    """Return a page with the modules in ``lab`` and an open card in ``card``."""
    page = chromium_with_card.new_page()
    page.goto(modules)
    page.wait_for_function("window.lab")
    page.evaluate("async () => { window.card = await lab.webgpu_device.openCard(); }")
    yield page
    page.close()
