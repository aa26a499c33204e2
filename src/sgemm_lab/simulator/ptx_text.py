"""PTX as text: where a block of it ends."""

import re

from sgemm_lab.simulator.errors import PtxError
from sgemm_lab.simulator.sentences import sentence


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
