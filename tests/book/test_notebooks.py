"""Notebooks made from chapters: plain Markdown, clean, and alive where Colab's packages are."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from sites import ROOT, SPECIMEN, once
from turns import TODAY

from sgemm_lab.book import notebooks
from sgemm_lab.book.plain_markdown import Converter
from sgemm_lab.book.repository import Repository
from sgemm_lab.errors import LabError

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
# What a chapter finds on Colab without a GPU, once its first cell has installed a compiler.
COLAB = [
    *("numpy==2.0.2", "matplotlib==3.10.0", "ipywidgets==7.7.1", "ipykernel==6.17.1"),
    *("cupy-cuda12x==14.2.0", "nvidia-cuda-nvrtc-cu12==12.9.86"),
]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def plain(text: str, folder: Path = SPECIMEN / "chapters") -> str:
    pieces = Converter(folder / "first.md").pieces(text)
    assert not any(piece.live for piece in pieces)
    return "\n\n".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("myst", "markdown"),
    [
        ("```{note}\nA *note*.\n```", "> **Note**\n>\n> A *note*."),
        ("```{admonition} Takeaway\n:class: takeaway\nRead.\n```", "> **Takeaway**\n>\n> Read."),
        (
            "::::{dropdown} Solution\n:::{tip}\nTry.\n:::\n::::",
            "<details><summary>Solution</summary>\n\n> **Tip**\n>\n> Try.\n\n</details>",
        ),
        ("```{code-block} cuda\nint i;\n```", "```cuda\nint i;\n```"),
        ("```python\n{note}\n```", "```python\n{note}\n```"),
        ("[here](second.md)", "[here](second.ipynb)"),
        ("[](second.md)", "[A second page](second.ipynb)"),
        ("[web](https://example.org/x.md)", "[web](https://example.org/x.md)"),
        ("`{note}` and ``[](x.md)``", "`{note}` and ``[](x.md)``"),
        (
            "```{glossary}\nwarp\n  32 threads,\n  all `at` once.\n\nlane\n  One.\n```",
            "- **warp**: 32 threads, all `at` once.\n- **lane**: One.",
        ),
        ("```{symbols}\n| `As` | tile |\n```", "| `As` | tile |"),
        ("- see\n\n  ```{note}\n  Read.\n  ```", "- see\n\n  > **Note**\n  >\n  > Read."),
        ("1. run\n   ```python\n   f()\n   ```", "1. run\n   ```python\n   f()\n   ```"),
        ("a\n\n```{panel} tiled\n```\n\nb", "a\n\nb"),
        ("## Head\n% a comment\ntext", "## Head\ntext"),
        ("$$\n[a](b.md)\n$$", "$$\n[a](b.md)\n$$"),
    ],
)
def test_myst_becomes_plain_markdown(myst: str, markdown: str) -> None:
    assert plain(myst) == markdown


def test_what_the_whole_book_holds_is_written_out_or_pointed_to(tmp_path: Path) -> None:
    assert "| `TILE` | rows and columns of a tile | 16, 32 |" in plain("```{constants}\n```")
    (tmp_path / "first.md").write_text("# All claims\n")
    assert "on the page “All claims” of the book" in plain("```{ledger}\n```", tmp_path)


@pytest.mark.parametrize(
    ("myst", "named"),
    [
        ("```{proof}\nTry.\n```", "the directive {proof}"),
        ("- ```{proof}\n  Try.\n  ```", "the directive {proof}"),
        ("> ```{tip}\n> Try.\n> ```", "the directive {tip}"),
        ("{glue:text}`speed`", "the role {glue:text}"),
        ("[](missing.md)", "missing.md"),
    ],
)
def test_what_is_not_understood_is_refused_in_a_sentence(myst: str, named: str) -> None:
    with pytest.raises(LabError, match=r"first\.md: .+ cannot be turned") as refused:
        plain(myst)
    assert named in str(refused.value)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_becomes_a_clean_notebook(chapter: Path, tmp_path: Path) -> None:
    path = notebooks.write(chapter, tmp_path, None)
    made: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(made)
    assert all(not cell.get("outputs") for cell in made.cells)
    text = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "{code-cell}" not in text
    assert ":::" not in text
    assert "```{" not in text


def test_first_cell_installs_from_the_known_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    repository = Repository("https://github.com", "someone/book")
    known = notebooks.install_cell(repository)
    assert '%pip install --quiet "sgemm-lab @ git+https://github.com/someone/book"' in known
    unknown = notebooks.install_cell(None)
    assert "sgemm-lab @" not in unknown
    assert "pip install ." in unknown
    monkeypatch.setenv("GITHUB_SHA", "0123abc")
    assert 'github.com/someone/book@0123abc"' in notebooks.install_cell(repository)


@pytest.mark.parametrize(
    ("repository", "sentence"),
    [
        (
            Repository("https://github.com", "a/b"),
            "could not be installed from https://github.com/a/b; ",
        ),
        (None, "This notebook needs the Python package of the book. "),
    ],
)
def test_first_cell_stops_where_the_package_is_still_missing(
    repository: Repository | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = re.sub(r"%pip install .*", "pass", notebooks.install_cell(repository))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=sentence + ".*run 'pip install"):
        exec(cell, {})


def test_first_cell_installs_a_compiler_only_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = re.sub(
        r"%pip install --quiet (\S+)", r'asked.append("\1")', notebooks.install_cell(None)
    )
    there: list[str] = []
    exec(cell, {"asked": there})
    assert there == []
    assert "NVRTC" in capsys.readouterr().out
    missing: list[str] = []
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1))
    exec(cell, {"asked": missing})
    assert missing == ["nvidia-cuda-nvrtc-cu12"]  # CuPy is here, and stays
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "cupy" else found(name)
    )
    exec(cell, {"asked": missing})
    assert missing[1:] == ["nvidia-cuda-nvrtc-cu12", "cupy-cuda12x"]


def test_hidden_code_is_folded() -> None:
    made = notebooks.notebook(SPECIMEN / "chapters" / "first.md", None)
    sources = [cell["source"] for cell in made["cells"]]
    place = next(i for i, source in enumerate(sources) if 'picture("A figure")' in source)
    assert made["cells"][place]["metadata"]["jupyter"] == {"source_hidden": True}


def test_command_says_what_it_wrote_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(SPECIMEN / "chapters")
    assert notebooks.main(["--chapters", source, "--to", str(tmp_path)]) == 0
    assert "first.ipynb" in capsys.readouterr().out
    assert notebooks.main(["--chapters", str(tmp_path)]) == 1
    assert "no chapters" in capsys.readouterr().err


@pytest.fixture(scope="module")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the book's wheel and what Colab has."""
    return once(tmp_path_factory, "colab", make_environment_like_colabs)


def make_environment_like_colabs(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = [*pip, "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(wheel, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (made,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "uv", "--quiet", "pip", "install"]
    target = ["--python", str(folder / "venv"), "nbclient", *COLAB, str(made)]
    subprocess.run([*install, *target], check=True)


# Every cell of every chapter runs when the book is built, and once more without a compiler. These
# pages use, between them, all that the wheel must carry and each of Colab's packages.
FROM_THE_WHEEL = ("00_start", "02_tiling", "15_several_gpus", "A6_your_gpu", "A7_your_kernel")


@pytest.mark.parametrize("name", FROM_THE_WHEEL)
@pytest.mark.sampled(every=5, first=TODAY)
def test_a_chapter_runs_from_the_wheel_where_there_is_no_gpu(colab: Path, name: str) -> None:
    path = notebooks.write(ROOT / "chapters" / f"{name}.md", colab, None)
    binaries = colab / "venv" / "bin"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [binaries / "python", "-m", "jupyter", "execute", "--inplace", path],
        capture_output=True,
        text=True,
        check=False,
        cwd=colab,
        env={**environment, "PATH": f"{binaries}:{environment['PATH']}"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    cells = json.loads(path.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output["output_type"] == "error"]
    if name[0] == "0":  # a chapter of the ladder, not an appendix
        shown = json.dumps(outputs)
        assert WIDGET_VIEW in shown
        assert "Recorded on" in shown
