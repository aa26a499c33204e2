"""Steps of kernels that the pages' compiler has compiled: those of NVRTC's code."""

from collections import Counter
from typing import Any

import pytest
from compiler_here import compiled

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.simulator import worker


def named_steps(trace: Any, steps: list[dict[str, Any]]) -> Counter[str]:
    """Steps by their text, with arrays by name: which is met first is the compiler's choice."""
    arrays = [array["name"] for array in trace["arrays"]]
    return Counter(
        str({**one, "line": statement(trace, one["line"]), "array": arrays[one["array"]]})
        for one in steps
    )


def statement(trace: Any, line: int) -> int:
    """Return the first line of a statement: of an asm of two lines the compilers name either."""
    while not trace["source"][line - 1 - trace["first_line"]].rstrip().endswith((";", "{", "}")):
        line -= 1
    return line


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("tiled:TILE=2", (4, 4, 4)),
        ("sliding_window:TILE=2,BK=2", (4, 4, 8)),
    ],
)
def test_each_step_is_that_of_the_books_code(name: str, size: tuple[int, int, int]) -> None:
    kernel = load_kernel(name)
    texts = [kernel_ptx(kernel), compiled(kernel.source)["ptx"]]
    given = {"kernel": name, "source": kernel.source, "size": size, "timeLimit": 60}
    theirs, mine = (worker.ask("trace_steps", {**given, "ptx": ptx}) for ptx in texts)
    assert mine["names"] == theirs["names"]
    assert mine["problems"] == theirs["problems"] == []
    # Within an epoch a compiler orders what does not depend on each other as it likes.
    for here, there in zip(mine["blocks"], theirs["blocks"], strict=True):
        assert named_steps(mine, here) == named_steps(theirs, there)
        epochs = [[step["epoch"] for step in steps] for steps in (here, there)]
        assert epochs[0] == epochs[1] == sorted(epochs[0])
    assert [one["line"] for one in mine["left_out"]] == [one["line"] for one in theirs["left_out"]]
