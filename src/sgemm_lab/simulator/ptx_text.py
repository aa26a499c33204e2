"""PTX as text: where a block of it ends, and the error of a text that cannot be read or run."""

import re

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.sentences import sentence


class PtxError(LabError):
    """The PTX text cannot be read, or uses something the simulator does not know."""


def closing_brace(text: str, start: int) -> int:
    """Return where the block ends whose brace stands right before ``start``.

    Raises:
        PtxError: it does not end.
    """
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return start + brace.start()
    raise PtxError(sentence("ptx.cut"))
