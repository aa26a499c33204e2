"""Evaluate a kernel's ``static_assert``s without the compiler.

A search tries thousands of combinations of constants, and the compiler needs a second for each. The
assertions are arithmetic over the constants, so they can be evaluated here.
"""

import re

from sgemm_lab.expression import UnreadableError, holds
from sgemm_lab.kernel import Kernel

_ASSERTION = re.compile(r'^static_assert\((.+?),\s*"([^"]+)"\);', re.M | re.S)


def refusal(kernel: Kernel) -> str | None:
    """Return the message of the first failed assertion, or None.

    Assertions that are not plain arithmetic are left to the compiler.
    """
    constants = kernel.computed_constants
    for condition, sentence in _ASSERTION.findall(kernel.source):
        try:
            if not holds(condition, constants):
                return str(sentence)
        except UnreadableError:
            continue
    return None
