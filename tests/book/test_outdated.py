"""Pages go stale when what their cells run has changed, and at no other time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sites import ROOT

from sgemm_lab.book import outdated

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


# Sphinx alone, without the theme: the same extension, and quicker.
CONFIGURATION = """
extensions = ["myst_nb", "sgemm_lab.book.extension"]
root_doc = "chapters/page"
include_patterns = ["chapters/*.md"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
"""


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

    def build(self) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SGEMM_LAB_DATA": str(self.folder)}
        command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", self.folder]
        return subprocess.run(
            [*command, self.folder / "_build" / "html"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )

    def runs_cells(self) -> bool:
        done = self.build()
        assert done.returncode == 0, done.stderr
        return "Executed notebook" in done.stdout


@pytest.fixture
def small_book(tmp_path: Path) -> SmallBook:
    return SmallBook(tmp_path)


def test_a_failing_build_keeps_failing_and_a_good_one_stays_fresh(small_book: SmallBook) -> None:
    small_book.write("print('two')", after="[nowhere](#nowhere)")
    failed = small_book.build()
    assert failed.returncode != 0
    assert "chapters/page.md" in failed.stdout + failed.stderr
    assert small_book.build().returncode != 0, "A warning must not be forgotten."

    small_book.write("print('two')")
    assert small_book.runs_cells()
    assert not small_book.runs_cells()
    (small_book.folder / "kernels" / "99_new.cu").write_text("// A kernel.\n")
    assert small_book.runs_cells()


def test_everything_that_cells_run_is_watched() -> None:
    watched = {path.relative_to(ROOT).as_posix() for path in outdated.inputs()}
    kinds = {f"{name.split('/')[0]}/*{Path(name).suffix}" for name in watched}
    assert {"kernels/*.cu", "records/*.json", "src/*.py", "src/*.js", "src/*.css"} <= kinds


def test_fingerprint_knows_content_and_name(tmp_path: Path) -> None:
    def of(**files: str) -> str:
        for old in tmp_path.iterdir():
            old.unlink()
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return outdated.fingerprint(tmp_path.iterdir())

    assert of(a="1", b="2") == of(b="2", a="1")
    assert len({of(a="1"), of(a="2"), of(b="1"), of(a="1", b="")}) == 4
