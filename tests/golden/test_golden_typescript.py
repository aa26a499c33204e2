"""The simulator of the pages, in Node, against the golden corpus."""

import pytest
from golden_groups import GROUPS
from golden_launch import in_javascript
from golden_record import differences, record_of

PARTS = {"book_ragged": 2, "book_aligned": 2}
COMMON = [name for name, group in GROUPS.items() if not group.python_only]


@pytest.mark.parametrize(
    ("group", "part"), [(name, part) for name in COMMON for part in range(PARTS.get(name, 1))]
)
def test_typescript_gives_the_golden_results(group: str, part: int) -> None:
    golden = GROUPS[group].golden()
    cases = [*GROUPS[group].cases().values()][part :: PARTS.get(group, 1)]
    found = {
        case.name: different
        for case, answer in zip(cases, in_javascript(cases), strict=True)
        if (different := differences(golden[case.name], record_of(case, answer)))
    }
    assert not found
