"""Every page where neither CuPy nor a compiler can be had, as on a Mac: no cell may raise."""

import subprocess
import sys
from pathlib import Path

import pytest
from sites import ROOT
from turns import TODAY

CHAPTERS = [
    path for path in sorted((ROOT / "chapters").glob("*.md")) if "{code-cell}" in path.read_text()
]

RUN = '''
import ast
import sys
from pathlib import Path


class NoCupy:
    """Finds CuPy and its parts missing, whatever is installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cupy", "cupy_backends"):
            raise ModuleNotFoundError(f"No module named '{name}'")


sys.meta_path.insert(0, NoCupy())

if __name__ == "__main__":
    from sgemm_lab.book.notebooks import notebook
    from sgemm_lab.cuda.compiler import load_nvrtc
    from sgemm_lab.errors import MissingToolError

    try:
        load_nvrtc()
    except MissingToolError:
        pass
    else:
        sys.exit("There is a compiler after all.")
    for chapter in sys.argv[1:]:
        names = {}
        for cell in notebook(Path(chapter), None)["cells"][1:]:
            if cell["cell_type"] == "code":
                body = ast.parse(cell["source"]).body
                shown = body.pop() if body and isinstance(body[-1], ast.Expr) else None
                exec(compile(ast.Module(body, []), chapter, "exec"), names)
                if shown is not None:
                    repr(eval(compile(ast.Expression(shown.value), chapter, "eval"), names))
    print(len(sys.argv) - 1, "chapters")
'''


# Several chapters a process: it takes longer to begin than a chapter to run.
# The book is built from every page's cells; one part of them runs here once more at each change.
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sampled(every=PARTS, first=TODAY)
def test_no_cell_of_a_chapter_raises(part: int, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    chapters = CHAPTERS[part::PARTS]
    done = subprocess.run(
        [sys.executable, script, *chapters],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith(f"{len(chapters)} chapters\n")
