"""The workbench of "Your own kernel": any CUDA file is edited, compiled and checked in the page.

``{workbench}`` shows an editor, and for each kernel of the file a verdict, the launches of the
file's own program or an assumed one, and counts by line. The scripts come when the reader turns to
it. Without scripts it shows nothing.

An example is a file in ``examples/``. Its first line is its name; the last two are the text that
its faulty variant replaces, and the replacement.
"""

import json
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sgemm_lab import bundles
from sgemm_lab.book.code_editor import code_field
from sgemm_lab.book.collecting import gathered

KIND = "workbenches"
SCRIPT = "workbench.js"
EXAMPLES = Path(__file__).parent / "examples"
_LINES = 20
"""Lines that the editor shows at once."""
_TITLE, _BEFORE, _AFTER = "// example: ", "// fault replaces: ", "// by:"


@dataclass(frozen=True)
class Example:
    """A CUDA file to start from, and its fault: the text that it replaces, and the replacement."""

    name: str
    source: str
    fault: tuple[str, str]


def examples() -> list[Example]:
    """Return the examples in the order of their files' names."""
    return [_example(path.read_text(encoding="utf-8")) for path in sorted(EXAMPLES.glob("*.cu"))]


def _example(text: str) -> Example:
    first, *lines, before, after = text.splitlines()
    fault = before.removeprefix(_BEFORE), after.removeprefix(_AFTER).removeprefix(" ")
    return Example(first.removeprefix(_TITLE), "\n".join(lines).strip() + "\n", fault)


class WorkbenchDirective(SphinxDirective):
    """``{workbench}``: a CUDA file of the reader."""

    def run(self) -> list[nodes.Node]:
        """Write the HTML."""
        return [nodes.raw("", workbench(examples()), format="html", **{KIND: True})]


def workbench(shown: list[Example]) -> str:
    """Return the HTML of a workbench. It is hidden, because without a script it is dead."""
    options = "".join(f"<option>{escape(one.name)}</option>" for one in shown)
    options += "<option hidden>Your file</option>"
    data = json.dumps([asdict(one) for one in shown], ensure_ascii=False).replace("<", "\\u003c")
    return (
        '<section class="lab-bench" data-lab="workbench" aria-label="Check a CUDA file" hidden>'
        '<div class="lab-bench-bar">'
        f'<label>Start from <select data-lab="example">{options}</select></label>'
        '<label><input type="checkbox" data-lab="faulty"> with a bug</label>'
        '<label class="lab-open">or open a file '
        '<input type="file" data-lab="open" accept=".cu,.cuh,.h,.hpp,.cpp,.txt"></label>'
        '<button type="button" class="lab-run" data-lab="run">Run</button></div>'
        f"{code_field('Your CUDA file', shown[0].source.rstrip(), 1, _LINES)}"
        '<div class="lab-bench-verdict" data-lab="verdict" data-state="none" role="status">'
        "<p><b>Not run yet</b></p>Paste a whole CUDA file, with its main, or start from an example."
        "</div>"
        '<div data-lab="launches"></div>'
        f'<script type="application/json" data-lab="examples">{data}</script></section>'
    )


def write_files(app: Sphinx) -> None:
    """Write the script. Compiler and engine are those of the chapters' panels."""
    if gathered(app.env, KIND):
        script = Path(app.outdir) / "_static" / SCRIPT
        script.write_text(bundles.text(f"pages/{SCRIPT}"), encoding="utf-8")
