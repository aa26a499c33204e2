"""Format numbers, sizes and tables for HTML, plain text and pictures."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from html import escape
from pathlib import Path
from typing import Any

_EXACT = Context(prec=700)
"""More digits than a float has on either side of its decimal point."""

_PLACE = re.compile(r"\{(?P<name>\w+)(?::(?P<format>\w+)(?: (?P<words>[^}]*))?)?\}")

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

REWRITE_LINE = "\r\033[K"
"""Terminal control that moves to the start of the line and clears it."""


def number(value: float) -> str:
    """Format a number with three digits: 63,700 and 15.2 and 0.25."""
    if not math.isfinite(value):
        return str(value)
    # As in JavaScript: round half up from the shortest decimal representation.
    digits = Decimal(repr(float(value)))
    place = 0 if abs(value) >= 100 else min(0, digits.adjusted() - 2)
    rounded = digits.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP, _EXACT)
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded.normalize(_EXACT):f}"


def rounded_to(value: float, digits: int) -> float:
    """Round to significant digits, half up as in JavaScript."""
    exact = Decimal(value)
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float(exact.quantize(place, ROUND_HALF_UP, _EXACT))


def factor_text(value: float, more: int = 0) -> str:
    """Return two decimals; from 10 on one, and near 1, where a percent counts, three."""
    digits = 1 if value >= 10 else 3 if abs(value - 1) < 0.06 else 2
    return f"{value:.{min(digits + more, 3)}f}"


def product_texts(product: float, *factors: float) -> list[str]:
    """Write a product, "=" or, where the reader's own product differs, "≈", and its factors."""
    shown = factor_text(product)
    for more in range(3):
        texts = [factor_text(factor, more) for factor in factors]
        if factor_text(math.prod(map(float, texts))) == shown:
            return [shown, "=", *texts]
    return [shown, "≈", *texts]


def four_digits(value: float) -> str:
    """Write a value with four digits, so that the reader's own division gives the same three."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def ratio(times: float) -> str:
    """Format a factor with two digits."""
    return number(rounded_to(times, 2))


def percent(share: float) -> str:
    """Format a share such as 0.123 as "12 %", small ones with two digits."""
    if abs(share) >= 0.1:
        return f"{math.floor(100 * share + 0.5)} %"
    return f"{rounded_to(100 * share, 2):g} %"


def with_spaced_percents(text: str) -> str:
    """Insert a space before each percent sign: "12%" becomes "12 %"."""
    return re.sub(r"(?<=\d)%", " %", text)


def plural(count: int, word: str, several: str = "") -> str:
    """Format a count with its noun: "1 wavefront", "2 wavefronts".

    ``several`` is an irregular plural.
    """
    return f"{count:,} {word if count == 1 else several or word + 's'}"


def tenths(value: float) -> str:
    """Format a number with at most one decimal, rounding half up as in JavaScript."""
    return f"{math.floor(value * 10 + 0.5) / 10:.15g}"


def tenths_percent(share: float) -> str:
    """Format 0.125 as "12.5 %"."""
    return f"{tenths(share * 100)} %"


def templates(path: Path) -> dict[str, str]:
    """Load the templates of a JSON file by key."""
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def sentences(module: str) -> Callable[..., str]:
    """Return what fills the templates of ``sentences.json`` in the folder of a module's file.

    It takes a key and the values that its template names.
    """
    found = templates(Path(module).with_name("sentences.json"))
    return lambda key, **values: filled(found[key], values)


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template, as JavaScript does too.

    ``{name}`` is replaced by a value, ``{name:format}`` by a formatted one: ``comma``, ``number``,
    ``percent``, ``share`` and ``tenths`` (one decimal), ``ratio`` (two digits), ``nine`` (nine
    digits, which identify a float), ``plural word`` ("2 words"), and ``one this|that``: "this" for
    1, "that" for other numbers.
    """

    def fill(place: re.Match[str]) -> str:
        value = values[place["name"]]
        return _FORMATS[place["format"]](value, place["words"]) if place["format"] else str(value)

    return _PLACE.sub(fill, template)


_FORMATS: dict[str, Callable[[Any, str], str]] = {
    "comma": lambda value, _: f"{value:,.0f}",
    "number": lambda value, _: number(value),
    "percent": lambda value, _: percent(value),
    "share": lambda value, _: tenths_percent(value),
    "ratio": lambda value, _: ratio(value),
    "tenths": lambda value, _: tenths(value),
    "nine": lambda value, _: f"{value:.9g}",
    "plural": plural,
    "one": lambda value, words: words.split("|")[0 if value == 1 else 1],
}


def power_of_ten(power: int) -> str:
    """Format a power of ten: 10⁻⁷."""
    return "10" + str(power).translate(_RAISED)


def error_text(error: float) -> str:
    """Format an error without spaces: "2.44·10⁻⁷"."""
    digits, _, power = f"{error:.2e}".partition("e")
    return f"{digits}·{power_of_ten(int(power))}"


def size_text(size: Sequence[int]) -> str:
    """Format a size: 4096³ for a cube, else 1000×999×37."""
    m, n, k = size
    return f"{m}³" if m == n == k else f"{m}×{n}×{k}"


def bytes_text(count: float) -> str:
    """Format bytes in units of powers of 1024."""
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:,.4g} {unit}"
        count /= 1024
    return f"{count:,.4g} GB"


def bytes_moved_text(count: float) -> str:
    """Format bytes in units of powers of 1000, as for bandwidths."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{number(count)} {unit}"
        count /= 1000
    return f"{number(count)} TB"


def printable(text: str) -> str:
    """Replace control characters and line breaks for output to a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def breakable(text: str) -> str:
    """Return HTML with line break opportunities within names and sizes.

    ``one_row:TM=4,BK=8`` breaks between words and before each constant, ``1×2×3`` after each ×.
    """
    return re.sub(
        r"([:,])(?=[A-Z]+=)|(?<=[a-z0-9])_(?=[a-z0-9])|(?<=\w)×(?=\w)", r"\g<0><wbr>", escape(text)
    )


def breakable_head(text: str) -> str:
    """Return HTML of a column head with hyphenation of long words."""
    return _LONG_WORD.sub(lambda word: _SYLLABLES[word[0]], breakable(text))


_SYLLABLES = {
    word.replace("-", ""): word.replace("-", "&shy;")
    for word in (
        "wave-fronts", "instruc-tions", "instruc-tion", "regis-ters", "fore-told", "meas-ured",
        "over-lapped", "effi-ciency", "re-quests", "work-space", "ele-ments", "mul-tiply",
        "re-ceived", "trans-fers", "to-gether", "com-piled", "addi-tions", "sched-ules",
        "pro-ducts", "bar-riers", "Multi-plied",
    )
}  # fmt: skip
"""Hyphenation of long words in column heads, which are wider than the numbers on a phone."""


def is_wider_than_a_phone(columns: Iterable[Sequence[str]]) -> bool:
    """Whether columns are wider than a phone, in small type and with broken names."""
    parts = [
        [part for text in column for part in _BREAK.split(breakable_head(text))]
        for column in columns
    ]
    signs = sum(max(len(part) - len(_NARROW.findall(part)) / 2 for part in one) for one in parts)
    return 7.1 * signs + 3 * len(parts) > 358  # px: a digit, the space between, the page


def columns_on_a_phone(columns: Iterable[Sequence[str]]) -> int:
    """Return the number of columns per line on a phone, below the row names.

    It is 0 if all columns fit next to the names. Further columns continue on the next lines.
    """
    all_columns = list(columns)
    if not is_wider_than_a_phone(all_columns):
        return 0
    others = all_columns[1:]
    for lines in range(1, len(others)):
        per_line = math.ceil(len(others) / lines)
        stacked = [[text for one in others[i::per_line] for text in one] for i in range(per_line)]
        if not is_wider_than_a_phone(stacked):
            return per_line
    return 1


_BREAK = re.compile(r"\s+|<wbr>|&shy;")
_NARROW = re.compile(r"[-.,·e⁻⁰¹²³⁴⁵⁶⁷⁸⁹]")

_LONG_WORD = re.compile(rf"\b(?:{'|'.join(_SYLLABLES)})\b")


def plain_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: int | range
) -> str:
    """Return a table for a terminal.

    Columns with the indices ``numbers``, or from the index ``numbers`` on, are right-aligned.
    """
    texts = [[printable(str(cell)) for cell in row] for row in (heads, *rows)]
    right = range(numbers, len(heads)) if isinstance(numbers, int) else numbers
    widths = [max(len(row[i]) for row in texts) for i in range(len(heads))]
    lines = (
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    )
    return "\n".join(line for line in lines if line)
