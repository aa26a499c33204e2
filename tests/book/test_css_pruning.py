"""Style sheets without what no page can come under."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.book import css_pruning

NAMES = {"card", "open", "icon"}


@pytest.mark.parametrize(
    ("sheet", "left"),
    [
        (".card{a:b}", ".card{a:b}"),
        (".other{a:b}", ""),
        (".card,.other{a:b}", ".card{a:b}"),
        (".card .other{a:b}", ""),
        (".card.open>p:hover{a:b}", ".card.open>p:hover{a:b}"),
        ("#icon{a:b}#none{a:b}", "#icon{a:b}"),
        ("p:not(.other){a:b}", "p:not(.other){a:b}"),
        (":is(.other,.card) p{a:b}", ":is(.other,.card) p{a:b}"),
        ('[class*=".other"] p{a:b}', '[class*=".other"] p{a:b}'),
        ("/* .card */ p { a: b }", "p{a: b}"),
        ("@media print{.other{a:b}}", ""),
        ("@media print{.card{a:b}.other{a:b}}", "@media print{.card{a:b}}"),
        ("@font-face{font-family:x}", "@font-face{font-family:x}"),
        ("@charset 'x';.other{a:b}", "@charset 'x';"),
        ('.card:before{content:"}.other{"}', '.card:before{content:"}.other{"}'),
        (".card{b:url(data:x;y,{z})}.other{}", ".card{b:url(data:x;y,{z})}"),
        (r".w-1\/2{a:b}", ""),
    ],
)
def test_selectors_stay_whose_names_all_occur(sheet: str, left: str) -> None:
    assert css_pruning.pruned(sheet, NAMES) == left


def test_escaped_signs_belong_to_a_name() -> None:
    assert css_pruning.pruned(r".w-1\/2{a:b}", {"w-1/2"}) == r".w-1\/2{a:b}"


@given(st.lists(st.sampled_from(["card", "open", "icon", "other", "more"]), min_size=1))
def test_a_list_of_selectors_keeps_those_of_the_page_in_order(names: list[str]) -> None:
    left = css_pruning.pruned(",".join(f".{name}" for name in names) + "{a:b}", NAMES)
    kept = ",".join(f".{name}" for name in names if name in NAMES)
    assert left == (f"{kept}{{a:b}}" if kept else "")


def test_variables_that_nothing_reads_go_and_those_that_only_they_read() -> None:
    sheet = ":root{--a:1px;--b:var(--c);--c:2px;--d:3px}p{margin:var(--a)}"
    assert css_pruning.without_unread_variables(sheet, set()) == ":root{--a:1px}p{margin:var(--a)}"
    kept = css_pruning.without_unread_variables(sheet, {"--b"})
    assert kept == ":root{--a:1px;--b:var(--c);--c:2px}p{margin:var(--a)}"


def test_names_are_those_of_elements_and_not_of_the_text() -> None:
    html = "<p class=\"a b-c\" id='d' style='x: var(--v)'>word <i class=e></i></p>"
    assert css_pruning.names_in_page(html) == {"a", "b-c", "d", "e", "--v"}


def test_names_of_a_script_are_its_words() -> None:
    script = 'node.classList.add("is-live"); get("--ink")'
    assert {"is-live", "--ink"} <= css_pruning.names_in_script(script)
