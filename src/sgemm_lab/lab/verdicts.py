"""What is said about kernels, put to the test: claims with their verdicts, as table and as data."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sgemm_lab.errors import LabError
from sgemm_lab.text import with_spaced_percents

VERDICTS_MIME = "application/vnd.sgemm-lab.verdicts+json"
"""The claims as a list of ``{"key", "claim", "verdict", "because"}``, beside their table."""

SIGNS = {"confirmed": "✓", "wrong": "✗", "partly": "◐", "misleading": "!", "depends": "⇄"}
"""Every verdict there is, and the sign that stands beside its word."""

_KEY = re.compile(r"(?:\d{3}|more)(?:-[a-z0-9]+)+")
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Claim:
    """Something that is said, and what became of it. Texts may hold code in backticks."""

    key: str
    claim: str
    verdict: str
    because: str

    @property
    def anchor(self) -> str:
        """The id of the claim's row on its page."""
        return f"verdict-{self.key}"


@dataclass(frozen=True)
class Verdicts:
    """Claims as a table for people, and as data for the book's list of all claims."""

    claims: tuple[Claim, ...]

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {
            "text/html": _table(self.claims),
            "text/plain": repr(self),
            VERDICTS_MIME: [vars(claim) for claim in self.claims],
        }

    def __repr__(self) -> str:
        return "\n".join(
            f"{SIGNS[claim.verdict]} {claim.verdict}: {claim.claim}\n  {claim.because}"
            for claim in self.claims
        )


HEAD = "<thead><tr>" + "".join(
    f'<th scope="col">{head}</th>' for head in ("Claim", "Verdict", "Why")
) + "</tr></thead>"  # fmt: skip


def verdicts(rows: Iterable[Sequence[str]]) -> Verdicts:
    """Return claims with their verdicts. Each row is ``(key, claim, verdict, because)``.

    A key such as "001-align-4" names the claim in the book's list of all claims. A claim of this
    page alone has a key that starts with "more-".

    Raises:
        LabError: a row has another form, a verdict is unknown, or a key stands twice.
    """
    claims = tuple(map(_claim, rows))
    keys: set[str] = set()
    for claim in claims:
        if claim.key in keys:
            raise LabError(f"The key '{claim.key}' is used twice. Give each claim its own.")
        keys.add(claim.key)
    return Verdicts(claims)


def row(claim: Claim, *, attributes: str = "", address: str = "") -> str:
    """Return a claim as a row of an HTML table, the verdict as a link where it has an address."""
    kind, sign = claim.verdict, f'<span aria-hidden="true">{SIGNS[claim.verdict]}</span> '
    tag, link = ("a", f' href="{address}"') if address else ("span", "")
    return (
        f"<tr{attributes}><td>{with_code(claim.claim)}</td>"
        f'<td><{tag} class="lab-verdict"{link} data-verdict="{kind}">{sign}{kind}</{tag}></td>'
        f"<td>{with_code(claim.because)}</td></tr>"
    )


def _table(claims: Iterable[Claim]) -> str:
    rows = "".join(row(claim, attributes=f' id="{claim.anchor}"') for claim in claims)
    return (
        f'<div class="lab-scroll"><table class="lab-table lab-verdicts">{HEAD}'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _claim(fields: Sequence[str]) -> Claim:
    if isinstance(fields, str) or len(fields) != 4:
        raise LabError(
            f"A verdict is written (key, claim, verdict, because). This is not: {fields!r}"
        )
    # Texts may run over several lines of the page's source.
    key, said, verdict, because = (" ".join(text.split()) for text in fields)
    claim = Claim(key, said, verdict, with_spaced_percents(because))
    if claim.verdict not in SIGNS:
        raise LabError(
            f"The verdict on '{claim.key}' is '{claim.verdict}'. Use one of {', '.join(SIGNS)}."
        )
    if not _KEY.fullmatch(claim.key):
        raise LabError(
            f"The key '{claim.key}' is not of the form '001-align-4' or 'more-powers-of-two'."
        )
    return claim


def with_code(text: str) -> str:
    """Return text as HTML; what stands in backticks becomes code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
