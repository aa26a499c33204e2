"""Formulas: from LaTeX to MathML, and the font with their signs."""

import re
from pathlib import Path

import pytest
from sites import ROOT

from sgemm_lab.book import fonts, mathml
from sgemm_lab.errors import LabError

CODE = re.compile(r"(?s)^(`{3,})(?!\{).*?^\1|^```\{code-cell\}.*?^```|`[^`\n]+`", re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\$)([^$]+?)\$(?!\$)", re.DOTALL)


def shown(markup: str) -> str:
    return re.sub(r"(?s)<annotation.*?</annotation>|<[^>]*>|&\w+;", "", markup)


def written() -> list[str]:
    chapters = sorted((ROOT / "chapters").glob("*.md"))
    texts = [CODE.sub("", path.read_text(encoding="utf-8")) for path in chapters]
    return sorted({whole or inline for text in texts for whole, inline in FORMULA.findall(text)})


def test_every_formula_of_the_chapters_is_turned() -> None:
    assert len(written()) > 80
    for latex in written():
        markup = mathml.mathml(latex, display=False)
        assert "\\" not in shown(markup), latex


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        ("T^3", "<msup><mi>T</mi><mn>3</mn></msup>"),
        (r"\frac{L}{2}", "<mfrac><mi>L</mi><mn>2</mn></mfrac>"),
        (r"\text{what an SM has}", "<mtext>what\u00a0an\u00a0SM\u00a0has</mtext>"),
        (r"\lceil K \rceil", "⌈"),
        ("a < b", "&lt;"),
    ],
)
def test_parts_become_elements_that_browsers_draw(latex: str, part: str) -> None:
    assert part in mathml.mathml(latex, display=False)


@pytest.mark.parametrize("latex", [r"\frac{1", r"\unheardof{2}", "a}"])
def test_what_is_no_latex_is_named_in_a_sentence(latex: str) -> None:
    with pytest.raises(LabError, match=re.escape(f"The formula “{latex}” cannot be drawn")):
        mathml.mathml(latex, display=False)


def test_font_has_the_signs_of_the_pages_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        f"<p>æ {mathml.mathml('h_i = BK ÷ 2', display=False)} and ü</p>", encoding="utf-8"
    )
    mathml.write_font(tmp_path)
    font = tmp_path / "_static" / mathml.FONT
    assert fonts.code_points(font) - {0x20} == set(map(ord, "ℎ𝑖𝐵𝐾=÷2"))
    assert font.stat().st_size < 8_000


@pytest.mark.parametrize("latex", [r"\sqrt{2}", r"\sqrt[3]{2}"])
def test_font_has_the_sign_of_a_root_which_no_text_names(tmp_path: Path, latex: str) -> None:
    (tmp_path / "page.html").write_text(mathml.mathml(latex, display=False), encoding="utf-8")
    mathml.write_font(tmp_path)
    assert ord("√") in fonts.code_points(tmp_path / "_static" / mathml.FONT)


def test_sign_that_the_font_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<math><mi>猫</mi></math>", encoding="utf-8")
    with pytest.raises(LabError, match="Formulas show 猫, which STIXTwoMath"):
        mathml.write_font(tmp_path)
