"""The panel of a chapter: the kernel to be edited and run, in the page itself.

A chapter has one::

    ```{panel} tiled
    ```

Without scripts it shows nothing, because the listing in the chapter has the same lines. Its own
script comes when the reader first turns to it (``book.js`` sees to that), the engine and a kernel's
PTX when it is first run. All of them are plain scripts, because a page that is opened as a file may
not load a module.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from sgemm_lab import bundles
from sgemm_lab.book import exercises, workbench
from sgemm_lab.book.code_editor import code_field
from sgemm_lab.book.collecting import gathered
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.clang.package import version, write_site
from sgemm_lab.cuda.shipped_ptx import shipped_kernels, shipped_text
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gpu import find_gpu
from sgemm_lab.kernel import Kernel, body_start
from sgemm_lab.lab.card import newest_card
from sgemm_lab.text import size_text

KIND = "panels"
"""What the pages' panels are gathered under: the names of their kernels."""

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = ("panel.js", "panel-lines.js", "panel-code.js", "panel-code-LICENSES.txt")
"""Bundles that pages load as they are."""
_SIZES = ((64, 64, 64), (65, 63, 66), (128, 128, 128))
"""At these the reader may count: full tiles, ragged ones, and more of them."""
COMPILER = "clang"
"""The folder of the compiler's package, next to the scripts."""
SHEET = ("name", "sms", "clock_mhz", "fp32_lanes", "tf32_fmas", "fp16_fmas", "dram_gbs")
"""What the bound takes from a GPU's data sheet."""
_NOT_RUN = (
    "Run checks the kernel at awkward sizes, looks for races, and counts what each line asks of "
    "memory. It all happens in this page."
)
"""Stands there from the start: nothing moves when the script comes while a button is pressed."""
_LONGEST = 18
"""Lines that the editor shows at once; of a longer kernel it scrolls."""


class PanelDirective(SphinxDirective):
    """``{panel} tiled``: the kernel to be edited and run."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the panel's HTML."""
        try:
            kernel = load_kernel(self.arguments[0])
        except LabError as problem:
            raise self.error(str(problem)) from None
        return [nodes.raw("", panel(kernel), format="html", **{KIND: kernel.name})]


def panel(kernel: Kernel) -> str:
    """Return the HTML of a kernel's panel. It is hidden, because without a script it is dead."""
    lines = kernel.source.splitlines()
    first = body_start(kernel.source)
    while not lines[first]:
        first += 1
    body = "\n".join(lines[first:])
    name = escape(kernel.name)
    gpu = find_gpu(newest_card().device.name)
    data = {
        "name": kernel.name,
        "head": "\n".join([*lines[:first], ""]),
        "gpu": {field: getattr(gpu, field) for field in SHEET},
    }
    label = f"Your copy of {kernel.name}"
    shown = min(len(lines) - first, _LONGEST)
    sizes = "".join(
        f'<option value="{m},{n},{k}">{size_text((m, n, k))}</option>' for m, n, k in _SIZES
    )
    return (
        f'<section class="lab-bench" data-lab="panel" id="panel-{name}" '
        f'aria-label="Edit and run {name}" hidden>'
        '<div class="lab-bench-bar"><p class="lab-bench-title">'
        f"<b>{name}</b>, your copy</p>"
        f'<label>Count at <select data-lab="size">{sizes}</select></label>'
        '<button type="button" class="lab-run" data-lab="run">Run</button>'
        '<button type="button" data-lab="reset" disabled>Reset</button></div>'
        f"{code_field(label, body, first + 1, shown)}"
        '<div class="lab-bench-verdict" data-lab="verdict" data-state="none" role="status">'
        f"<p><b>Not run yet</b></p>{_NOT_RUN}</div>"
        '<div data-lab="counts"></div>'
        f'<script type="application/json" data-lab="kernel">{_json(data)}</script></section>'
    )


def add_sheet(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], _doctree: object
) -> None:
    """Let pages with a panel or a workbench load the style sheet of both."""
    if page in gathered(app.env, KIND) or page in gathered(app.env, workbench.KIND):
        app.add_css_file("panel.css")


def write_files(app: Sphinx) -> None:
    """Write the panel's script, the engine and the kernels' PTX to the built site."""
    static = Path(app.outdir) / "_static"
    named = {name for names in gathered(app.env, KIND).values() for name in names}
    boxes = gathered(app.env, exercises.KIND)
    asked = sorted({name for names in boxes.values() for name in names if name})
    if not named and not asked:
        return
    compiler = _written_compiler(static / COMPILER)
    for file, text in site_files(sorted(named), compiler, asked).items():
        (static / file).write_text(text, encoding="utf-8")


def site_files(
    names: list[str], compiler: Mapping[str, int], asked: Sequence[str] = ()
) -> dict[str, str]:
    """Return the scripts that panels and exercises of lines load, by the name of their file.

    ``names`` are those of the panels' kernels, ``asked`` those of exercises. ``compiler`` has the
    bytes of each of its files; where it is empty, edits are not compiled.
    """
    files = {
        **{name: bundles.text(f"pages/{name}") for name in _SCRIPTS},
        "panel-compiler.js": _laid_ready("window.labCompiler", _compiler(compiler)),
        "panel-engine.js": _laid_ready("window.labEngine", bundles.text("pages/panel-engine.js")),
        "panel-checker.js": _laid_ready(
            "window.labChecker", bundles.text("pages/panel-checker.js")
        ),
    }
    for name in asked:
        files |= exercises.lines_files(name)
    # A file has the PTX of a kernel with all its constants.
    judged = {
        kernel.partition(":")[0] for name in asked for kernel in exercises.lines_kernels(name)
    }
    shipped = shipped_kernels()
    for name in sorted({*names, *judged}):
        texts = {one.name: shipped_text(one) for one in shipped if one.base_name == name}
        files[f"panel-ptx-{name}.js"] = _laid_ready(f"(window.labPtx ??= {{}}).{name}", texts)
    return files


def _compiler(sizes: Mapping[str, int]) -> dict[str, object] | None:
    if not sizes:
        return None
    return {
        "script": bundles.text("pages/panel-compiler.js"),
        "folder": f"{COMPILER}/",
        "megabytes": round(sum(sizes.values()) / 1e6),
    }


def _written_compiler(folder: Path) -> Mapping[str, int]:
    """Put the compiler into a folder of the site, unless it is there; return its files' bytes.

    Where the package was not fetched, that is said, and there are no files.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["version"] == version():
            return dict(manifest["files"])
    except OSError:
        pass
    try:
        return write_site(folder)
    except MissingToolError as missing:
        _LOGGER.info(f"Pages run the book's own kernels alone. {missing}")
        return {}


def _laid_ready(place: str, value: object) -> str:
    return f"{place} = {json.dumps(value, ensure_ascii=False)};\n"


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
