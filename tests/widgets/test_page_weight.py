"""What the widgets of a page weigh, were all of the book on one."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from every_widget import SAMPLES, of_book

import sgemm_lab.widgets
from sgemm_lab.book import stills
from sgemm_lab.book.render import page_scripts, page_state
from sgemm_lab.errors import LabError
from sgemm_lab.files import CHECKOUT, OTHER_DATA
from sgemm_lab.records.json_files import CHAPTERS_RECORD
from sgemm_lab.widgets import LabWidget


def others(place: str, names: list[str]) -> list[str]:
    """Which files of a folder are records of other GPUs than the chapters' own."""
    top = Path(place) == CHECKOUT / "records"
    return [n for n in names if top and n.endswith(".json") and n != CHAPTERS_RECORD]


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the chapters' own record alone, whatever other GPUs the book has."""
    folder = tmp_path_factory.mktemp("data")
    shutil.copytree(CHECKOUT / "records", folder / "records", ignore=others)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OTHER_DATA, str(folder))
        yield folder


@cache
def made(name: str) -> LabWidget:
    """A widget of the chapters' own record, made once: to weigh it changes nothing."""
    return of_book(name)


@pytest.fixture(scope="module")
def widgets() -> list[LabWidget]:
    return [made(name) for name in SAMPLES]


def state_of(widgets: list[LabWidget]) -> dict[str, Any]:
    return page_state({widget.model_id: {"state": widget.get_state()} for widget in widgets})


def saved_state(widget: LabWidget) -> dict[str, Any]:
    """A widget as a page has it."""
    page = state_of([widget])
    model = page["models"][widget.model_id]
    return {**model, "kind": page["kinds"][model["kind"]]}


def test_every_class_of_widget_is_weighed(widgets: list[LabWidget]) -> None:
    there = (value for value in vars(sgemm_lab.widgets).values() if isinstance(value, type))
    names = {one.__name__ for one in there if issubclass(one, LabWidget)} - {"LabWidget"}
    drawn = {type(widget).__name__ for widget in widgets}
    assert names - drawn == set(), "add an entry to SAMPLES in tests/widgets/every_widget.py"
    assert drawn == names


def test_a_page_names_the_code_of_the_books_widgets_and_holds_none(
    widgets: list[LabWidget],
) -> None:
    state = state_of(widgets)
    assert {kind.rsplit(".", 2)[1] for kind in state["kinds"]} == {*state["kinds"].values()}
    assert len(state["kinds"]) == len(widgets)
    assert "function render(" not in json.dumps(state)


def test_a_widget_that_cannot_be_drawn_ends_in_a_sentence() -> None:
    class Mine(LabWidget):
        _esm = "export default { render() { throw new Error('No room.'); } };"

    with pytest.raises(LabError, match=r"The widget of the page cannot be drawn: Error: No room\."):
        stills.draw([saved_state(Mine())])


def test_a_page_loads_only_what_it_shows() -> None:
    ladder = state_of([of_book("memory ladder"), of_book("memory ladder")])
    assert page_scripts(ladder) == ["widgets.js", "widgets-memory_ladder.js"]
    assert len(ladder["models"]) == 2


def test_a_widget_that_is_not_the_books_brings_its_own_code() -> None:
    class Mine(LabWidget):
        _esm = "export default { render() {} };"

    state = state_of([Mine()])
    assert [*state["kinds"].values()] == [
        {"script": "export default { render() {} };", "sheet": ""}
    ]
    assert page_scripts(state) == ["widgets.js"]
