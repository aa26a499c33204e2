"""Claims and verdicts: as a table for people, as data for the book, and refused with a sentence."""

import json
from typing import Any

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab.verdicts import VERDICTS_MIME

ALIGNMENT = ("001-align-4", "`float4` needs 4 bytes <at most>.", "wrong", "It needs 16.")
WINDOW = ("more-any-k", "A window takes any K.", "confirmed", "It moves.")


def bundle(*rows: tuple[str, ...]) -> dict[str, Any]:
    return lab.verdicts(rows)._repr_mimebundle_()


def test_claims_travel_as_data_beside_their_table() -> None:
    data = bundle(ALIGNMENT, WINDOW)[VERDICTS_MIME]
    assert json.loads(json.dumps(data))[0] == {
        "key": "001-align-4",
        "claim": "`float4` needs 4 bytes <at most>.",
        "verdict": "wrong",
        "because": "It needs 16.",
    }
    assert [claim["key"] for claim in data] == ["001-align-4", "more-any-k"]


def test_table_has_an_anchor_for_each_claim_and_shows_code_as_code() -> None:
    html = bundle(ALIGNMENT, WINDOW)["text/html"]
    assert '<tr id="verdict-001-align-4">' in html
    assert '<tr id="verdict-more-any-k">' in html
    assert "<code>float4</code> needs 4 bytes &lt;at most&gt;." in html


def test_a_key_stands_once() -> None:
    with pytest.raises(LabError, match="is used twice"):
        lab.verdicts([WINDOW, WINDOW])
