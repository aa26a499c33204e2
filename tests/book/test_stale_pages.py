"""Pages go stale when what their cells run has changed, and at no other time."""

import multiprocessing
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from sites import ROOT
from sphinx.cmd.build import main as sphinx

from sgemm_lab.book import stale_pages

PAGE = """---
file_format: mystnb
kernelspec:
  name: python3
---

# A page

```{{code-cell}} ipython3
{code}
```
"""


# Ports of kernels that start at once may be the same: one ends, and the build would not.
NO_PORTS = """import json
from ipykernel.connect import get_connection_info
assert json.loads(get_connection_info())["transport"] == "ipc"
"""

# Sphinx alone, without the theme: the same extension, and quicker.
CONFIGURATION = """
extensions = ["myst_nb", "sgemm_lab.book.extension"]
root_doc = "chapters/page"
include_patterns = ["chapters/*.md"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
"""


# Each build has a process of its own. It is a copy of one that has loaded Sphinx and the extension,
# which takes as long as the build.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["sphinx.cmd.build", "myst_nb", "sgemm_lab.book.extension"])


@dataclass(frozen=True)
class Built:
    """How a build ended: without a warning or not, and what was said."""

    right: bool
    said: str


def run_sphinx(folder: Path, said: Path) -> None:
    """Run Sphinx, and write what it says to a file."""
    with said.open("w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.environ["SGEMM_LAB_DATA"] = str(folder)
    options = ["-W", "-n", "--keep-going", str(folder), str(folder / "_build" / "html")]
    sys.exit(sphinx(options))


class SmallBook:
    """A book of one page, with kernels and records that may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "chapters").mkdir()
        for name in ("kernels", "records"):
            shutil.copytree(ROOT / name, folder / name)
        (folder / "conf.py").write_text(CONFIGURATION)
        self.page = folder / "chapters" / "page.md"

    def write(self, code: str, after: str = "") -> None:
        self.page.write_text(PAGE.format(code=code) + after)

    def build(self) -> Built:
        said = self.folder / "said.txt"
        process = PROCESSES.Process(target=run_sphinx, args=(self.folder, said))
        process.start()
        process.join()
        return Built(process.exitcode == 0, said.read_text(encoding="utf-8"))

    def runs_cells(self) -> bool:
        done = self.build()
        assert done.right, done.said
        return "Executed notebook" in done.said

    def claims_of_ledger(self) -> tuple[str, bool]:
        """Return how many claims the ledger says that it has, and whether the one is there."""
        html = (self.folder / "_build" / "html" / "chapters" / "ledger.html").read_text()
        (count,) = set(re.findall(r"all \d", html))
        return count, "It is so." in html


@pytest.fixture
def small_book(tmp_path: Path) -> SmallBook:
    return SmallBook(tmp_path)


def test_a_failing_build_keeps_failing_and_a_good_one_stays_fresh_until_something_changes(
    small_book: SmallBook,
) -> None:
    ledger = small_book.folder / "chapters" / "ledger.md"
    ledger.write_text("---\norphan: true\n---\n\n# All\n\n```{ledger}\n```\n")
    rows = [("more-so", "It is so.", "wrong", "It is not.")]
    claim = f"from sgemm_lab import lab\nlab.verdicts({rows})"

    small_book.write(NO_PORTS if os.name == "posix" else "2", after="[nowhere](#nowhere)")
    failed = small_book.build()
    assert not failed.right
    assert "chapters/page.md" in failed.said
    assert "Error" not in failed.said
    assert small_book.claims_of_ledger() == ("all 0", False)
    assert not small_book.build().right, "A warning must not be forgotten."

    # The ledger is written again when a chapter changes.
    small_book.write(claim)
    assert small_book.runs_cells()
    assert small_book.claims_of_ledger() == ("all 1", True)
    assert not small_book.runs_cells()
    kernels = small_book.folder / "kernels"
    shutil.copy(max(kernels.glob("*.cu")), kernels / "999_new.cu")
    assert small_book.runs_cells()


def test_everything_that_cells_run_is_watched() -> None:
    watched = {path.relative_to(ROOT).as_posix() for path in stale_pages.inputs()}
    kinds = {f"{name.split('/')[0]}/*{Path(name).suffix}" for name in watched}
    assert {"kernels/*.cu", "records/*.json", "src/*.py", "src/*.ts", "src/*.css"} <= kinds


def test_fingerprint_knows_content_and_name(tmp_path: Path) -> None:
    def of(**files: str) -> str:
        for old in tmp_path.iterdir():
            old.unlink()
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return stale_pages.fingerprint(tmp_path.iterdir())

    assert of(a="1", b="2") == of(b="2", a="1")
    assert len({of(a="1"), of(a="2"), of(b="1"), of(a="1", b="")}) == 4
