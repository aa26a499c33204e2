"""The simulator of the pages, in Node, against the golden corpus."""

import pytest
from golden_groups import GROUPS
from golden_launch import in_javascript
from golden_record import differences, record_of
from turns import TODAY

COMMON = [name for name, group in GROUPS.items() if not group.python_only]


@pytest.mark.parametrize(("group", "half"), [(name, half) for name in COMMON for half in (0, 1)])
@pytest.mark.sampled(every=2, first=TODAY + 1)
def test_typescript_gives_the_golden_results(group: str, half: int) -> None:
    golden = GROUPS[group].golden()
    cases = [*GROUPS[group].cases().values()][half::2]
    found = {
        case.name: different
        for case, answer in zip(cases, in_javascript(cases), strict=True)
        if (different := differences(golden[case.name], record_of(case, answer)))
    }
    assert not found
