"""Which constants can work: a kernel's own ``static_assert``s, read without the compiler.

A search asks for thousands of combinations. The compiler would need a second for each; the
assertions of a kernel are arithmetic over its constants, and say at once what is wrong, in the
kernel's own sentence.
"""

import re

from sgemm_lab.expression import UnreadableError, holds
from sgemm_lab.kernel import Kernel

_ASSERTION = re.compile(r'^static_assert\((.+?),\s*"([^"]+)"\);', re.M | re.S)


def refusal(kernel: Kernel) -> str | None:
    """Return the sentence of the first assertion that the kernel's constants break, or None.

    An assertion that is more than arithmetic is left to the compiler.
    """
    constants = kernel.computed_constants
    for condition, sentence in _ASSERTION.findall(kernel.source):
        try:
            if not holds(condition, constants):
                return str(sentence)
        except UnreadableError:
            continue
    return None
