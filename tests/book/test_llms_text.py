"""The book as plain text for language models."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sites import Site

from sgemm_lab.book import llms_text
from sgemm_lab.book.mathml import mathml


def turned(html: str) -> str:
    article = BeautifulSoup(f"<article>{html}</article>", "html.parser").article
    assert article is not None
    return llms_text.markdown(article)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<h2>Title<a class="headerlink">#</a></h2><p>One\ntwo</p>', "## Title\n\nOne two"),
        ("<p>a <b>b</b> <em>c</em> <code>d</code></p>", "a **b** *c* `d`"),
        ('<p><a href="https://a.b/c">d</a> <a href="e.html">f</a></p>', "[d](https://a.b/c) f"),
        ("<pre>  a\n\n<b>b</b>\n</pre>", "```\n  a\n\nb\n```"),
        ("<ul><li>a</li><li><p>b</p></li></ul>", "- a\n- b"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1|2</td><td>3</td></tr></table>",
            "| a | b |\n|---|---|\n| 1\\|2 | 3 |",
        ),
        ("<dl><dt>a</dt><dd>b</dd></dl>", "**a**\n\nb"),
        ('<figure><svg aria-label="A line"></svg>Told</figure>', "[Picture: A line]\n\nTold"),
        ("<p>x</p><script>y</script><form>z</form><svg><text>w</text></svg>", "x"),
        ("<div>a<p>b</p>c</div>", "a\n\nb\n\nc"),
    ],
)
def test_elements_become_markdown(html: str, text: str) -> None:
    assert turned(html) == text


def test_formulas_are_latex_again() -> None:
    inline, block = (mathml(r"\frac{a}{b}", display=block) for block in (False, True))
    assert turned(f"<p>is {inline}</p>") == r"is $\frac{a}{b}$"
    assert turned(f"<div>{block}</div>") == r"$$\frac{a}{b}$$"


def test_a_title_is_that_of_the_article_not_of_the_buttons_above_it(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<main role="main"><a>Notebook</a><h2>Contents</h2>'
        "<article><h1>Tiling</h1><p>Text</p></article></main>"
    )
    read = llms_text.page_text(tmp_path, "page")
    assert (read.title, read.text) == ("Tiling", "# Tiling\n\nText")


@pytest.mark.browser
def test_both_texts_are_published_with_values_and_pages_in_order(specimen: Site) -> None:
    listed = (specimen.folder / llms_text.LIST).read_text(encoding="utf-8")
    whole = (specimen.folder / llms_text.WHOLE).read_text(encoding="utf-8")
    assert listed.count("\n- [") == whole.count("\n\n---\n\n") + 1
    assert "[Notebook]" not in listed
    assert listed.index("chapters/first.html") < listed.index("chapters/second.html")
    assert "$t = \\frac{2MNK}{P}$" in whole or "$$t = \\frac{2MNK}{P}$$" in whole
    assert "<div" not in whole
