"""A build that fails ends with a sentence: page, line and cause, no traceback."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from myst_nb.core.config import NbParserConfig
from nbformat.v4 import new_code_cell, new_notebook
from turns import TAKES_TURNS

from sgemm_lab.book import page_errors

pytestmark = TAKES_TURNS

ROOT = Path(__file__).parents[2]
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# Page\n\n"


def built(folder: Path, cell: str) -> subprocess.CompletedProcess[str]:
    """Build a book of seven pages, one with a cell; pages are read by several processes."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["logo"] = str(ROOT / config["logo"])
    config["html"]["favicon"] = str(ROOT / config["html"]["favicon"])
    (folder / "_config.yml").write_text(yaml.safe_dump(config))
    (folder / "chapters").mkdir()
    names = [f"chapters/page{number}" for number in range(7)]
    for name in names:
        (folder / f"{name}.md").write_text("# Page\n")
    (folder / "chapters/page3.md").write_text(f"{HEAD}```{{code-cell}} python\n{cell}\n```\n")
    toc = {"format": "jb-book", "root": names[0], "chapters": [{"file": n} for n in names[1:]]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
    return subprocess.run(
        [sys.executable, "-m", "sgemm_lab.book.build", "-q"],
        capture_output=True, text=True, check=False, cwd=folder, env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip


def test_a_page_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    done = built(tmp_path, "from sgemm_lab import lab\nlab.shwo()")
    assert done.returncode == 1
    assert (
        "chapters/page3.md, line 10: AttributeError: sgemm_lab.lab has no verb 'shwo'.\n\n"
        "    from sgemm_lab import lab\n    lab.shwo()\n"
    ) in done.stderr
    assert done.stderr.endswith("The book was not built. The cause is above.\n")
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (
            "import time\ntime.sleep(60)",
            "chapters/a.md, line 10: a cell took longer than 1 seconds. Other work may be using "
            "this machine. Run 'make book' again when it is idle.",
        ),
        ("import os\nos._exit(1)", "chapters/a.md, line 10: the page's kernel ended."),
    ],
)
def test_a_cell_that_does_not_end_and_a_kernel_that_does_are_sentences(
    cell: str, sentence: str
) -> None:
    notebook = new_notebook(cells=[new_code_cell(cell)], metadata={"source_map": [9]})
    config = NbParserConfig(
        execution_in_temp=True, execution_timeout=1, execution_raise_on_error=True
    )
    page = Path.cwd() / "chapters/a.md"
    client = page_errors.PageClient(notebook, page, config, logging.getLogger())
    with pytest.raises(page_errors.PageError, match=f"^{re.escape(sentence)}"), client:
        client.code_cell_outputs(0)
