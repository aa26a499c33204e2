"""Every page where neither CuPy nor a compiler can be had, as on a Mac: no cell may raise."""

import subprocess
import sys
from pathlib import Path

import pytest
from sites import ROOT

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
    names = {}
    for cell in notebook(Path(sys.argv[1]), None)["cells"][1:]:
        if cell["cell_type"] == "code":
            body = ast.parse(cell["source"]).body
            shown = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), "cell", "exec"), names)
            if shown is not None:
                repr(eval(compile(ast.Expression(shown.value), "cell", "eval"), names))
'''


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_cell_of_a_chapter_raises(chapter: Path, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    done = subprocess.run(
        [sys.executable, script, chapter], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
