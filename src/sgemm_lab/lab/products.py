"""``sgemm_lab.matmul`` in a notebook: a missing GPU is a sentence, not an exception."""

from typing import Any

import sgemm_lab
from sgemm_lab.lab.arguments import without_tool


@without_tool
def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    error: float | str | None = None,
    workspace: int | None = None,
) -> Any:
    """Return a·b of two float32 CuPy arrays, by the book's fastest kernel for their size.

    See ``sgemm_lab.matmul`` for arrays, errors, copies and streams.
    """
    return sgemm_lab.matmul(a, b, out, error=error, workspace=workspace)
