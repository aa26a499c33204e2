"""Atomics that are rare, in Python and in JavaScript."""

import numpy as np
from simulator_kernels import ptx_of
from test_instructions import RARE_ATOMICS
from twins import Case, in_javascript, same


def test_rare_atomics_do_the_same_in_both() -> None:
    names = ("up", "down", "lock", "seen")
    arrays = {name: np.zeros(96, dtype=np.uint32) for name in names}
    arrays["lock"][1] = 5
    case = Case("rare atomics", ptx_of(RARE_ATOMICS), "k", (2,), (96,), arrays)
    (theirs,) = in_javascript([case])
    assert same(case.in_python(), theirs) == []
