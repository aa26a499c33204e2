"""Values that stand in the sentences of a chapter: on the page, and live in the notebook."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from sites import SPECIMEN, Site

from sgemm_lab import lab
from sgemm_lab.book.inline_values import ValueRole, replacement_field
from sgemm_lab.book.plain_markdown import Converter, Piece
from sgemm_lab.errors import LabError


def pieces(text: str) -> list[Piece]:
    return Converter(SPECIMEN / "chapters" / "first.md").pieces(text)


def said(piece: Piece, **values: object) -> str:
    """Return what the notebook's cell shows."""
    assert piece.live
    return str(eval(f'lab.say(rf"""\n{piece.text}\n""")', {"lab": lab, **values}))


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("x:.0%", "{x:.0%}"),
        ("speed['a'] / 2:,.0f", "{speed['a'] / 2:,.0f}"),
        ("x!r", "{x!r}"),
        ("x", "{lab.written(x)}"),
        ("lab.speed(\n  'split')", "{lab.written(lab.speed( 'split'))}"),
        ("a != b", "{lab.written(a != b)}"),
    ],
)
def test_a_value_is_the_field_of_an_f_string(content: str, field: str) -> None:
    assert replacement_field(content) == field


@pytest.mark.parametrize("content", ["", "x +", "x} and {y", '"""x"""', "for"])
def test_what_is_no_expression_is_refused_in_a_sentence(content: str) -> None:
    with pytest.raises(LabError, match=r"no expression of Python|no triple quotes"):
        replacement_field(content)


def test_a_value_that_does_not_say_how_is_written_as_the_book_writes_it() -> None:
    assert [lab.written(x) for x in (63712.4, 0.1875, 23.0, 4096, "word")] == [
        "63,712", "0.188", "23", "4096", "word",
    ]  # fmt: skip


def test_the_page_has_values_in_every_element_and_reads_a_text_as_markdown(specimen: Site) -> None:
    html = (specimen.folder / "chapters/first.html").read_text()
    latex = re.sub(r"<math\b.*?<annotation[^>]*>(.*?)</annotation>.*?</math>", r"$\1$", html)
    text = " ".join(re.sub(r"<[^>]+>", "", latex).split())
    assert "A sentence takes 389 GFLOP/s, or 25 % of what DRAM moves at $4096^3$." in text
    assert "<strong>389</strong>" in html
    assert re.search(r"<td[^>]*><p>1,555</p></td>", html)
    assert "A box with naive_rows." in text
    assert '<span class="pre">naive_rows</span>' in html


def test_a_value_that_fails_says_so_with_its_own_words() -> None:
    def fails(code: str) -> list[dict[str, str]]:
        assert code == 'f"""{speed:.0f}"""'
        return [{"output_type": "error", "ename": "NameError", "evalue": "no speed"}]

    with pytest.raises(LabError, match=r"`speed:\.0f`: NameError: no speed"):
        worked_out("speed:.0f", fails)


def worked_out(text: str, eval_variable: Any) -> str:
    role: Any = ValueRole()
    role.text = text
    renderer = SimpleNamespace(nb_client=SimpleNamespace(eval_variable=eval_variable))
    document = {"nb_renderer": SimpleNamespace(renderer=renderer)}
    role.inliner = SimpleNamespace(document=document)
    return str(role._worked_out(f'f"""{replacement_field(text)}"""'))


def test_a_paragraph_with_values_is_alive_in_the_notebook_and_others_stay_text() -> None:
    first, live, last = pieces(
        "Plain.\n\n- It makes {value}`x:,.0f` GFLOP/s, {value}`x`\n  of $\\frac{a}{b}$.\n\n## Head"
    )
    assert (first, last) == (Piece("Plain.", False), Piece("## Head", False))
    assert said(live, x=1234.5) == "- It makes 1,234 GFLOP/s, 1,235\n  of $\\frac{a}{b}$."


def test_boxes_and_tables_with_values_stay_whole() -> None:
    (box,) = pieces(":::{admonition} Takeaway\n\nIt is {value}`x`.\n\nSo.\n:::")
    assert said(box, x=3.0) == "> **Takeaway**\n>\n> It is 3.\n>\n> So."
    (table,) = pieces("| a |\n| --- |\n| {value}`x['k']` |")
    assert said(table, x={"k": "`code`"}) == "| a |\n| --- |\n| `code` |"
