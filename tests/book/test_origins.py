"""A page says once where its numbers were recorded."""

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document

from sgemm_lab.book.origins import fullest, gather, in_one, split_note

LONG = "Recorded on NVIDIA H200, 2026-11-21: driver 575.1, CUDA 12.9, SM clock 1,980 MHz."
SHORT = "Recorded on NVIDIA H200, 2026-11-21."


def output(note: str) -> nodes.raw:
    return nodes.raw("", f'<table></table><p class="lab-provenance">{note}</p>', format="html")


def page(*sections: nodes.section) -> nodes.document:
    document = new_document("page", get_default_settings(Parser()))
    whole = nodes.section("", nodes.title("", "Page"))
    whole += sections
    document += whole
    return document


def test_a_note_keeps_what_is_not_its_origin() -> None:
    assert split_note(f"{LONG} Medians, all ways in turns.") == (
        [LONG],
        ["Medians, all ways in turns."],
    )
    assert split_note("Loads of a launch at 256³.") == ([], ["Loads of a launch at 256³."])


def test_a_short_origin_gives_way_to_a_longer_one_of_the_same_record() -> None:
    other = "Recorded on NVIDIA A100, 2026-11-20."
    assert fullest([SHORT, LONG, other]) == [LONG, other]


def test_days_of_one_record_are_one_sentence() -> None:
    days = [f"Recorded on NVIDIA H200, 2026-11-2{day}." for day in (3, 1, 2)]
    other = "Recorded on NVIDIA A100, 2026-11-20."
    told = "Recorded on NVIDIA H200, 2026-11-21, 2026-11-22 and 2026-11-23."
    assert in_one([*days, other]) == [told, other]
    assert in_one([LONG, SHORT, other]) == [LONG, SHORT, other]


def test_a_page_tells_its_origin_once_at_its_end() -> None:
    first = nodes.section(
        "", nodes.title("", "One"), output(LONG), nodes.container("", output(LONG))
    )
    first += nodes.section("", nodes.title("", "Inner"), output(SHORT))
    second = nodes.section("", nodes.title("", "Two"), output("Compiled here."))
    document = page(first, second)
    gather(None, document, "page")  # type: ignore[arg-type]
    text = "".join(raw.astext() for raw in document.findall(nodes.raw))
    assert text.count("Recorded on") == 1
    told = f'<p class="lab-provenance lab-origin">{LONG}</p>'
    assert document.children[0].children[-1].astext() == told
    assert "Compiled here." in second.astext()
