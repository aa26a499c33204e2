"""Modules of TypeScript import one way, types included, by the layers that Python's keep to."""

import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sgemm_lab

ROOT = Path(__file__).parents[1]
PACKAGE = Path(sgemm_lab.__file__).parent
IMPORTED = re.compile(r'(?:\bfrom|\bimport)\s*\(?\s*"(\.{1,2}/[^"]+\.ts)"')
"""The module in ``import { x } from "./x.ts"``, and in the type ``import("./x.ts").X``."""

Graph = dict[str, set[str]]


def imports(folder: Path) -> Graph:
    """Return, for each module, those that it imports; paths from ``folder``."""
    return {
        path.relative_to(folder).as_posix(): {
            (path.parent / named).resolve().relative_to(folder.resolve()).as_posix()
            for named in IMPORTED.findall(path.read_text("utf-8"))
        }
        for path in folder.rglob("*.ts")
    }


def circle(graph: Graph) -> list[str]:
    """Return modules that import each other in a circle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def floors() -> dict[str, int]:
    """Return the floor of each folder or top module, as the contract of Python's imports has it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    return {name: -i for i, names in enumerate(layers) for name in names.split(" | ")}


def floor(module: str, of: dict[str, int]) -> int:
    room, _, inside = module.partition("/")
    if module == "difference.ts":  # Python has difflib in its place, beside which text stands
        return of["text"]
    return of[room if inside else room.removesuffix(".ts")]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return imports(PACKAGE)


def test_no_circles(graph: Graph) -> None:
    assert len(graph) > 150
    assert circle(graph) == []


def test_no_module_imports_from_a_floor_above(graph: Graph) -> None:
    of = floors()
    upward = [
        (module, imported)
        for module, found in graph.items()
        for imported in found
        if floor(imported, of) > floor(module, of)
    ]
    assert upward == []
