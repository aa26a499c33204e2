"""A panel in a page opened as a file, with the network cut: edit, run, and read the verdict."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from in_node import answers
from panel_pages import Opened, furnish, page_of
from playwright.sync_api import Page, expect
from turns import TAKES_TURNS, in_turn

from accessible import faults
from browser import PHONE
from sgemm_lab.book import panels
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_to_ptx
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import parse_kernel
from sgemm_lab.models.bound import bound
from sgemm_lab.models.ladder import SIZE

pytestmark = [pytest.mark.browser, TAKES_TURNS]

NAMES = ["tiled", "float4"]
WRONG = ["missing_second_barrier", "dropped_tail", "outside_load"]
SECOND = "        __syncthreads();  // no one overwrites a tile before all have read it\n"
PARTS = ("exercises.css", "panel.css", "book.js")
AFTER = '<p><a href="#after">After it</a></p>'
KINDS = {"const": "k", "for": "k", "float": "kt", "__global__": "kt", "// rows of A": "c1"}
"""Words, and the classes that give them the colours of the book's listings."""
MARKED = """([mark, wanted]) => {
  const lines = [...document.querySelectorAll(`.lab-bench-code .${mark}`)];
  return JSON.stringify(lines.map((line) => line.textContent)) === JSON.stringify(wanted);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a page for each kernel, and the scripts that they load."""
    where = tmp_path_factory.mktemp("panels")
    furnish(where, PARTS)
    for file, text in panels.site_files(NAMES, {}).items():
        (where / file).write_text(text, encoding="utf-8")
    kernels = [load_kernel(name) for name in NAMES]
    for name in WRONG:
        path = Path(__file__).parents[1] / "wrong_kernels" / f"{name}.cu"
        kernels.append(parse_kernel(name, path.read_text(encoding="utf-8")))
        ptx = {name: compile_to_ptx(kernels[-1])}
        text = f"(window.labPtx ??= {{}}).{name} = {json.dumps(ptx)};"
        (where / f"panel-ptx-{name}.js").write_text(text, encoding="utf-8")
    for kernel in kernels:
        for mode in ("light", "dark"):
            content = panels.panel(kernel) + AFTER
            html = page_of(content, "A panel", PARTS, mode)
            (where / f"{kernel.name}-{mode}.html").write_text(html, encoding="utf-8")
    return where


class OpenedPanel(Opened):
    """A page with a panel."""

    def __init__(self, page: Page, folder: Path) -> None:
        super().__init__(page)
        self.folder = folder

    def goto(self, name: str = "tiled", fragment: str = "", mode: str = "light") -> "OpenedPanel":
        self.page.goto("about:blank")
        self.page.goto(f"{(self.folder / f'{name}-{mode}.html').as_uri()}{fragment}")
        return self

    def turn_to_the_editor(self) -> None:
        self.part("editor").focus()
        self.page.wait_for_selector("[data-ready]")
        self.page.wait_for_selector(".cm-editor")

    @property
    def text(self) -> str:
        """The reader's copy."""
        self.turn_to_the_editor()
        return "\n".join(self.page.locator(".cm-line").all_text_contents())

    def edit(self, old: str, new: str) -> None:
        assert old in self.text
        wanted = self.text.replace(old, new)
        self.part("editor").fill(wanted)
        assert self.text == wanted

    def wait_for_lines(self, mark: str, *wanted: str) -> None:
        """Wait until these lines alone have a mark."""
        self.page.wait_for_function(MARKED, arg=[mark, list(wanted)])

    def lines(self, mark: str) -> list[str]:
        """Return the lines that have a mark."""
        marked = self.page.locator(f".lab-bench-code .{mark}").all_text_contents()
        return [line.rstrip("\n") for line in marked]

    def run(self) -> str:
        """Press Run; return the verdict's first line."""
        self.part("run").click()
        return self.judged()


@pytest.fixture
def opened(reading: Any, folder: Path) -> Any:
    """Return a function that opens a page with a panel, cut off from the network."""

    def make(**options: Any) -> OpenedPanel:
        return OpenedPanel(reading(offline=True, **options).new_page(), folder)

    return make


def test_the_books_kernel_is_right_and_counted(opened: Any) -> None:
    panel = opened().goto()
    assert panel.run() == "✓ Right, and no race"
    assert re.search(r"Right at \d+ sizes", panel.part("verdict").inner_text())
    counts = panel.part("counts").inner_text()
    assert "counted at 64³" in counts
    books = bound(load_kernel("tiled"), (SIZE, SIZE, SIZE), find_gpu("h200"))
    assert f"at 4096³ on H200: {books.gflops:,.0f} GFLOP/s, by {books.unit}." in counts
    assert "1,024" in counts  # sectors that the copy of A reads: 64 · 64 / 8 · 2 columns of blocks
    panel.part("size").select_option(label="65×63×66")
    expect(panel.part("counts")).to_contain_text("counted at 65×63×66", timeout=60_000)
    expect(panel.part("bound")).to_be_visible()
    open_one = '<p data-lab="prediction" data-state="empty"></p>'
    panel.page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", open_one)
    expect(panel.part("bound")).to_be_hidden()  # it would tell what the prediction asks
    assert panel.complaints == []


def test_a_race_names_both_lines_and_both_threads(opened: Any) -> None:
    panel = opened().goto("missing_second_barrier")
    assert panel.run().startswith("✗ Threads race at ")
    said = panel.part("verdict").inner_text()
    assert "with no barrier between" in said
    assert said.count("thread (") == 2
    expect(panel.page.locator(".cm-line.is-named")).to_have_count(2)
    for line in panel.lines("is-named"):
        assert line.partition("  //")[0].strip() in said
    panel.part("editor").press("Control+Home")
    panel.page.keyboard.type(" ")
    panel.wait_for_lines("is-named")
    assert panel.complaints == []


def test_a_wrong_result_names_the_first_wrong_element(opened: Any) -> None:
    panel = opened().goto("dropped_tail")
    assert panel.run().startswith("✗ Wrong at ")
    assert "The first is C[0, 0]" in panel.part("verdict").inner_text()
    assert opened().goto("outside_load").run().startswith("✗ An access lies outside at ")


@pytest.mark.chromium_only("an editor that a script writes into")
def test_a_measured_constant_runs_without_the_compiler_and_stands_beside_the_books(
    opened: Any,
) -> None:
    panel = opened().goto()
    panel.edit("TILE = 32", "TILE = 16")
    assert panel.lines("is-changed") == ["constexpr int TILE = 16;  // rows and columns of a tile"]
    assert panel.run() == "✓ Right, and no race"
    counts = panel.part("counts").inner_text()
    assert "yours" in counts
    assert "the book’s" in counts
    assert panel.complaints == []


@pytest.mark.parametrize(
    ("mine", "twins"), [("axc", [[0, 0], [1, 1], [2, 2]]), ("axyc", [[0, 0], [3, 2]])]
)
def test_an_edited_line_is_counted_beside_the_one_it_replaces(
    mine: str, twins: list[list[int]]
) -> None:
    pairs = "(book, mine) => [...marks.differences([...book], [...mine]).twins]"
    [answer] = answers({"marks": "book/panel/marks.ts"}, pairs, [["abc", mine]])
    assert answer["gives"] == twins


@pytest.mark.chromium_only("an editor that a script writes into")
def test_an_edit_that_needs_the_compiler_says_so(opened: Any) -> None:
    panel = opened().goto()
    panel.edit(SECOND, "")
    assert panel.lines("is-below-gone") == ["    }"]
    assert panel.run() == "✗ Not run"
    assert "A page that is opened as a file cannot load" in panel.part("verdict").inner_text()
    assert panel.complaints == []


def test_by_keyboard_alone(opened: Any) -> None:
    panel = opened().goto()
    page = panel.page

    panel.press_until('[data-lab="run"]')
    panel.press_until('[data-lab="editor"]')
    panel.turn_to_the_editor()
    page.keyboard.press("Control+Home")
    page.keyboard.press("End")
    page.keyboard.type(" // mine")
    page.keyboard.press("Control+Enter")
    verdict = page.locator('[data-lab="verdict"][data-state="right"]')
    verdict.wait_for(timeout=60_000)
    expect(panel.part("run")).to_have_text("Run", timeout=60_000)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.lab") != "editor"


@pytest.mark.chromium_only("an editor that a script writes into")
def test_an_edit_is_kept_and_reset_forgets_it(opened: Any) -> None:
    panel = opened().goto()
    panel.edit("TILE = 32", "TILE = 16")
    panel.page.wait_for_url("**#edit=*")
    address = panel.page.url
    panel.goto()
    panel.page.wait_for_selector("[data-ready]")
    assert "TILE = 16" in panel.text
    panel.part("reset").click()
    assert "TILE = 32" in panel.text
    panel.page.wait_for_function("!localStorage.getItem('sgemm-lab:edits').includes('TILE')")
    assert "#" not in panel.page.url.replace(address, "")
    assert panel.complaints == []


@pytest.mark.chromium_only("an editor that a script writes into")
def test_a_foreign_link_shows_its_code_and_runs_nothing(opened: Any) -> None:
    panel = opened().goto()
    panel.edit("TILE = 32", "TILE = 16")
    panel.page.wait_for_url("**#edit=*")
    fragment = "#" + panel.page.url.partition("#")[2]
    other = opened().goto(fragment=fragment)
    other.page.wait_for_selector("[data-ready]")
    assert "TILE = 16" in other.text
    assert other.part("verdict").inner_text().startswith("This code came with the link")
    assert other.page.evaluate("'labEngine' in window") is False
    assert other.run() == "✓ Right, and no race"
    broken = opened().goto(fragment="#edit=tiled:not-deflated")
    broken.page.wait_for_selector("[data-ready]")
    assert "TILE = 32" in broken.text
    assert other.complaints == broken.complaints == []


STRICT = (
    "default-src 'none'; script-src file: 'unsafe-inline'; worker-src blob:; "
    "style-src file: 'unsafe-inline'"
)
"""Scripts of the page and workers of its own alone: no eval, and nothing over the network.

Styles stand in the pages too: in attributes, and from CodeMirror.
"""


@pytest.mark.chromium_only("an editor that a script writes into")
def test_code_of_a_link_reaches_neither_page_nor_storage_nor_network(
    opened: Any, folder: Path
) -> None:
    mark = '// </textarea><img src=x onerror="window.reached = 1"><script>reached = 2</script>\n'
    sender = opened().goto()
    sender.edit(
        "    __shared__", f"{mark}    fetch(1); localStorage.clear(); eval(2);\n    __shared__"
    )
    sender.page.wait_for_url("**#edit=*")
    fragment = "#" + sender.page.url.partition("#")[2]
    html = (folder / "tiled-light.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{STRICT}">'
    (folder / "strict-light.html").write_text(
        html.replace("<head>", f"<head>{policy}"), encoding="utf-8"
    )
    reader = opened()
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url))
    reader.goto("strict", fragment)
    reader.page.wait_for_selector("[data-ready]")
    reader.page.evaluate("localStorage.setItem('mine', 'kept')")
    reader.turn_to_the_editor()
    assert mark in f"{reader.text}\n"
    assert reader.run() == "✗ Not run"
    assert reader.page.evaluate("[window.reached, document.images.length]") == [None, 0]
    assert reader.page.evaluate("localStorage.getItem('mine')") == "kept"
    assert all(address.startswith(("file:", "blob:")) for address in asked)
    # The book's own kernel runs under the same policy.
    reader.part("reset").click()
    assert reader.run() == "✓ Right, and no race"
    assert reader.complaints == []


def test_no_letter_is_lost_while_codemirror_comes(opened: Any) -> None:
    panel = opened().goto()
    page = panel.page
    panel.part("editor").focus()
    page.keyboard.press("Control+Home")
    typed = "// " + "typed on and on " * 8
    page.keyboard.type(typed)
    page.wait_for_selector(".cm-editor")
    page.keyboard.type("and then")
    assert panel.text.startswith(f"{typed}and thenconstexpr int TILE")
    panel.wait_for_lines("is-changed", panel.text.splitlines()[0])


def test_codemirror_colours_indents_comments_out_and_takes_back(opened: Any) -> None:
    panel = opened().goto()
    page = panel.page
    panel.turn_to_the_editor()
    for word, kind in KINDS.items():
        expect(page.locator(f".cm-line .{kind}", has_text=word).first).to_be_visible()
    page.locator(".cm-line", has_text="acc += As").click()
    page.keyboard.press("Control+/")
    panel.wait_for_lines("is-changed", "            // acc += As[ty][k] * Bs[k][tx];")
    page.keyboard.press("Control+z")
    panel.wait_for_lines("is-changed")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("acc += 0;")
    panel.wait_for_lines("is-changed", "            acc += 0;")
    panel.part("reset").click()
    panel.wait_for_lines("is-changed")
    panel.turn_to_the_editor()
    page.keyboard.press("Control+z")
    panel.wait_for_lines("is-changed", "            acc += 0;")
    expect(panel.part("verdict")).to_contain_text("Edited, and not run yet")
    assert panel.complaints == []


DEVICES = {"desktop": {}, "phone": PHONE}


@pytest.mark.chromium_only("a system whose colours change")
@pytest.mark.parametrize(("device", "mode"), in_turn(DEVICES, (("light",), ("dark",))))
def test_axe_finds_nothing_and_no_page_is_wider_than_its_window(
    opened: Any, device: str, mode: str
) -> None:
    panel = opened(**DEVICES[device]).goto(mode=mode)
    panel.edit("TILE = 32", "TILE = 16")
    panel.run()
    assert faults(panel.page) == []
    assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    smallest = panel.page.evaluate(
        """Math.min(...[...document.querySelectorAll("[data-lab=panel] *")]
             .filter((one) => one.textContent.trim()).map((one) =>
               parseFloat(getComputedStyle(one).fontSize)))"""
    )
    assert smallest >= 11
