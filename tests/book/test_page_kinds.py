"""The few pages that stand for all in a browser show every widget and panel of the book."""

from page_kinds import CHAPTERS, covering, kinds, widgets_of_verbs

from sgemm_lab import widgets
from sgemm_lab.widgets import LabWidget


def test_every_widget_has_a_verb_that_shows_it() -> None:
    there = (value for value in vars(widgets).values() if isinstance(value, type))
    names = {one.__name__ for one in there if issubclass(one, LabWidget)} - {"LabWidget"}
    assert set(widgets_of_verbs().values()) == names


def test_few_pages_show_what_all_show() -> None:
    of_few = set[str]().union(*(kinds(page) for page in covering()))
    of_all = set[str]().union(*(kinds(page) for page in CHAPTERS))
    assert of_few == of_all
    assert {"panel", "exercise", "predict", "reader-card"} < of_few
    assert len(covering()) < len(CHAPTERS)
