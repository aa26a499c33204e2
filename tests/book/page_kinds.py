"""What kinds of things a chapter shows, and the fewest chapters that together show every kind.

What holds for a kind of thing in a browser is tried on these few; with ``-m whole`` on all.
"""

import re
from functools import cache
from typing import get_args

from sites import ROOT

from sgemm_lab import lab
from sgemm_lab.widgets import LabWidget

CHAPTERS = [f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.md"))]


def source_of(page: str) -> str:
    """Return the text that a chapter's page is made of."""
    return (ROOT / page).with_suffix(".md").read_text(encoding="utf-8")


@cache
def widgets_of_verbs() -> dict[str, str]:
    """Return what widget each verb makes that makes one."""
    found = {}
    for verb in lab.__all__:
        made = getattr(getattr(lab, verb), "__annotations__", {}).get("return")
        for one in (made, *get_args(made)):
            if isinstance(one, type) and issubclass(one, LabWidget):
                found[verb] = one.__name__
    return found


def kinds(page: str) -> set[str]:
    """Return the widgets of a page, and the directives that it is written with."""
    text = source_of(page)
    verbs = set(re.findall(r"\blab\.(\w+)\(", text)) & widgets_of_verbs().keys()
    directives = re.findall(r"^\s*(?:`{3,}|:{3,})\{([\w:-]+)\}", text, re.MULTILINE)
    return {*directives, *(widgets_of_verbs()[verb] for verb in verbs)}


@cache
def covering() -> list[str]:
    """Return few chapters that show every kind: each time the one that adds most."""
    of = {page: kinds(page) for page in CHAPTERS}
    missing, chosen = set[str]().union(*of.values()), []
    while missing:
        chosen.append(max(CHAPTERS, key=lambda page: len(of[page] & missing)))
        missing -= of[chosen[-1]]
    return chosen
