"""Formulas, turned from LaTeX into MathML while the book is built: browsers draw it by themselves.

Sphinx calls this a renderer of mathematics. The letters come from STIX Two Math, which knows how
fractions, limits and growing brackets are set; ``stix/`` holds the signs that formulas of a book
like this may use, and a site gets those that its formulas do use.
"""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging

from sgemm_lab.book import fonts
from sgemm_lab.errors import LabError

RENDERER = "mathml"
FONT = "formulas.woff2"

_LOGGER = logging.getLogger(__name__)
_SOURCE_FONT = Path(__file__).parent / "stix" / "STIXTwoMath.woff2"
_CONVERTER = LatexToMathML(fancy_error=False, annotation=True)
_FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
_LETTER = re.compile(r"<mi>([A-Za-z])</mi>")
_TAG = re.compile(r"<annotation.*?</annotation>|<[^>]*>", re.DOTALL)
_ITALIC_CAPITAL, _ITALIC_SMALL, _ITALIC_H = 0x1D434, 0x1D44E, 0x210E
"""Code points of the italic A, a and h of mathematics; the letters follow in order, without h."""
_ROOT = re.compile(r"<(msqrt|mroot)>")
"""Elements whose sign a browser takes from the font, though no text of theirs names it."""
_ROOT_SIGN = "√"
_NO_MARK = {0x2061, 0x2062}
"""Signs that are read aloud and not drawn: a function is applied, factors are multiplied."""


def register(app: Sphinx) -> None:
    """Let Sphinx write formulas as MathML."""
    app.add_html_math_renderer(RENDERER, (_visit_inline, None), (_visit_block, None))


def mathml(latex: str, *, display: bool) -> str:
    """Return a formula as MathML, with its LaTeX as a note that is not shown.

    ``latex`` has no dollar signs around it. A formula for ``display`` stands in a line of its own.
    """
    try:
        return str(_CONVERTER.convert_with_local_state(latex.strip(), displaystyle=display))
    except LatexError as problem:
        raise LabError(f"The formula “{latex.strip()}” cannot be drawn: {problem}") from None


def write_font(site: Path) -> None:
    """Write the font with the signs that the formulas of the site's pages show."""
    fonts.cut_down(_SOURCE_FONT, site / "_static" / FONT, code_points(site))


def code_points(site: Path) -> set[int]:
    """Return the signs that the formulas of the site's pages show."""
    shown: set[int] = set()
    for page in site.rglob("*.html"):
        for formula in _FORMULA.findall(page.read_text(encoding="utf-8")):
            shown |= {_italic(letter) for letter in _LETTER.findall(formula)}
            shown |= {ord(sign) for sign in unescape(_TAG.sub("", _LETTER.sub("", formula)))}
            shown |= {ord(_ROOT_SIGN) for _ in _ROOT.findall(formula)}
    shown -= _NO_MARK
    lacking = shown - fonts.code_points(_SOURCE_FONT)
    if lacking:
        signs = " ".join(sorted(map(chr, lacking)))
        raise LabError(
            f"Formulas show {signs}, which {_SOURCE_FONT.name} lacks. Write them another way, or "
            "cut a font with them from STIX Two Math."
        )
    return shown


def _italic(letter: str) -> int:
    """Return the sign that a browser draws for a variable of one letter."""
    if letter == "h":
        return _ITALIC_H
    first, start = (_ITALIC_CAPITAL, "A") if letter.isupper() else (_ITALIC_SMALL, "a")
    return first + ord(letter) - ord(start)


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(_drawn(node, display=False))
    translator.body.append("</span>")
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    translator.body.append(_drawn(node, display=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _drawn(node: nodes.math | nodes.math_block, *, display: bool) -> str:
    """Return a formula's MathML; a formula that cannot be drawn is a warning, and stays LaTeX."""
    try:
        return mathml(node.astext(), display=display)
    except LabError as problem:
        _LOGGER.warning(str(problem), location=node)
        return escape(node.astext(), quote=False)
