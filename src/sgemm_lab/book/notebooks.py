"""Each chapter as a notebook for Jupyter and Colab: clean, never run, no MyST directives.

Run ``python -m sgemm_lab.book.notebooks`` to write them into the folder ``notebooks``.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook  # type: ignore[import-untyped]

from sgemm_lab.book import exercises
from sgemm_lab.book.plain_markdown import SYNTAX, Converter, Piece
from sgemm_lab.book.repository import Repository, known_repository
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError

Cell = dict[str, Any]

_HIDING_TAGS = {"remove-input", "hide-input", "hide-cell", "remove-cell"}
# Colab shows this line in place of the code.
_FORM_TITLE = '# @title Code of the output below { display-mode: "form" }'
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
    "colab": {"provenance": []},
}
_WITH_GPU = {"accelerator": "GPU", "colab": {"provenance": [], "gpuType": "T4"}}
_GPU = "gpu"
"""The line in a chapter's head: ``gpu: false`` where its notebook gains nothing from a GPU."""

# A cell that shows a whole kernel is followed by one in which it can be changed.
_SHOWN_KERNEL = re.compile(r"""^lab\.show\(["']([\w:=,]+)["']\)$""", re.MULTILINE)
_WORKBENCH = """\
# Change the kernel and run this cell: it is compiled, checked, counted and raced
# against the book's.
mine = lab.mine(r'''
{source}''')
lab.compare(mine, against="{name}")"""

_INSTALL = """\
# @title Install the book's package and a CUDA compiler, where they are missing; say what is here
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("sgemm_lab") is None:
    {install}
    importlib.invalidate_caches()
    if importlib.util.find_spec("sgemm_lab") is None:
        raise ModuleNotFoundError({failed!r})

compiler = "from sgemm_lab.cuda.compiler import load_nvrtc; load_nvrtc()"
if subprocess.run([sys.executable, "-c", compiler], capture_output=True).returncode:
    # Machines without a GPU seldom have one. Here it compiles for the simulator. What is there
    # already stays as it is.
    %pip install --quiet nvidia-cuda-nvrtc-cu12
    if importlib.util.find_spec("cupy") is None:
        %pip install --quiet cupy-cuda12x

doctor = [sys.executable, "-m", "sgemm_lab", "doctor"]
print(subprocess.run(doctor, capture_output=True, text=True).stdout)"""
_BY_HAND = "Download the book's repository and run 'pip install .' in it, then run this cell again."
_UNKNOWN_ADDRESS = f"This notebook needs the Python package of the book. {_BY_HAND}"


def write(chapter: Path, folder: Path, repository: Repository | None) -> Path:
    """Write the notebook of ``chapter`` into ``folder`` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{chapter.stem}.ipynb"
    text = json.dumps(notebook(chapter, repository), indent=1, ensure_ascii=False)
    target.write_text(f"{text}\n", encoding="utf-8")
    return target


def notebook(chapter: Path, repository: Repository | None) -> dict[str, Any]:
    """Return ``chapter`` as a notebook without outputs."""
    text = chapter.read_text(encoding="utf-8")
    read = read_myst_markdown_notebook(text, config=SYNTAX, path=chapter)
    converter = Converter(chapter)
    cells = [_code_cell(install_cell(repository), {"cellView": "form"})]
    for cell in read.cells:
        if cell.cell_type == "code":
            cells += _code_cells(cell)
        else:
            cells += _text_cells(cell.source, converter)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03}"
    metadata = _METADATA if read.metadata.get(_GPU) is False else {**_METADATA, **_WITH_GPU}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def install_cell(repository: Repository | None) -> str:
    """Return the first cell's code: it installs the package, or stops with a sentence."""
    if repository is None:
        # Not the bare name: anybody may own it on the package index.
        return _INSTALL.format(install="pass", failed=_UNKNOWN_ADDRESS)
    return _INSTALL.format(
        install=f'%pip install --quiet "{repository.install_target}"',
        failed=f"The book's package could not be installed from {repository.address}; pip's "
        f"message is above. {_BY_HAND}",
    )


def _text_cells(markdown: str, converter: Converter) -> list[Cell]:
    """Return text as it is, and an exercise as its text, a cell for the answer, its solution."""
    cells: list[Cell] = []
    for part in exercises.parts(markdown):
        if isinstance(part, str):
            cells += _plain_cells(part, converter)
        else:
            cells += _plain_cells(part.text, converter)
            cells.append(_code_cell(part.cell, {}))
            cells += _plain_cells(part.solved, converter)
    return cells


def _plain_cells(markdown: str, converter: Converter) -> list[Cell]:
    return [_text_cell(piece) for piece in converter.pieces(markdown)]


def _code_cells(cell: Any) -> list[Cell]:
    tags = set(cell.metadata.get("tags", []))
    folded = bool(tags & _HIDING_TAGS)
    cells = [_folded_cell(cell.source) if folded else _code_cell(cell.source, {})]
    if kept := sorted(tags & {"raises-exception"}):
        cells[0]["metadata"]["tags"] = kept
    for name in _SHOWN_KERNEL.findall(cell.source):
        source = load_kernel(name).source
        cells.append(_code_cell(_WORKBENCH.format(source=source, name=name), {}))
    return cells


def _code_cell(source: str, metadata: dict[str, Any]) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def _text_cell(piece: Piece) -> Cell:
    """Return a piece of text; where it holds values, as a folded cell that works them out."""
    if not piece.live:
        return {"cell_type": "markdown", "metadata": {}, "source": piece.text}
    return _folded_cell(f'lab.say(rf"""\n{piece.text}\n""")')


def _folded_cell(source: str) -> Cell:
    folded = {"cellView": "form", "jupyter": {"source_hidden": True}}
    return _code_cell(f"{_FORM_TITLE}\n{source}", folded)


def main(arguments: list[str] | None = None) -> int:
    """Write the notebooks of all chapters of the checkout in the current folder."""
    parser = argparse.ArgumentParser(prog="python -m sgemm_lab.book.notebooks", description=__doc__)
    parser.add_argument("--chapters", type=Path, default=Path("chapters"))
    parser.add_argument("--to", type=Path, default=Path("notebooks"))
    chosen = parser.parse_args(arguments)
    chapters = sorted(chosen.chapters.glob("*.md"))
    if not chapters:
        print(f"There are no chapters in {chosen.chapters}.", file=sys.stderr)
        return 1
    repository = known_repository()
    try:
        for chapter in chapters:
            print(write(chapter, chosen.to, repository))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
