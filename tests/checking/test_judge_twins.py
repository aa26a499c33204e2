"""The judge in JavaScript: the same matrices, the same verdicts, to the letter."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from in_node import answers

from sgemm_lab.checking.judge import (
    QUICK_SIZES,
    CheckResult,
    Judge,
    WrongResultError,
    first_fault,
    summary,
)
from sgemm_lab.kernel import Size
from sgemm_lab.text import filled

Matrix = npt.NDArray[Any]

MISCHIEF: dict[str, tuple[Callable[[Matrix, Matrix, Matrix, int], None], str]] = {
    "nothing": (lambda a, b, c, turn: None, ""),
    "last element": (
        lambda a, b, c, turn: c.__setitem__((-1, -1), c[-1, -1] + 1),
        "c.values[c.values.length - 1] += 1;",
    ),
    "unwritten column": (
        lambda a, b, c, turn: c.__setitem__((slice(None), -1), np.nan),
        "for (let r = 0; r < c.rows; r += 1) c.values[(r + 1) * c.columns - 1] = NaN;",
    ),
    "large": (
        lambda a, b, c, turn: c.__imul__(np.float32(1.25)),
        "for (let i = 0; i < c.values.length; i += 1) c.values[i] *= 1.25;",
    ),
    "rounded": (
        lambda a, b, c, turn: c.__setitem__(
            slice(None), np.where(turn, c * np.float32(1.001), c).astype(np.float32)
        ),
        "if (turn) c.values = c.values.map((x) => Math.fround(x * Math.fround(1.001)));",
    ),
    "restless": (
        lambda a, b, c, turn: c.__setitem__((0, 0), turn) if turn == 2 else None,
        "if (turn === 2) c.values[0] = 2;",
    ),
    "no NaN": (
        lambda a, b, c, turn: c.__setitem__(slice(None), np.nan_to_num(c, nan=0.0)),
        "c.values = c.values.map((x) => Number.isNaN(x) ? 0"
        " : Math.max(-3.4028234663852886e38, Math.min(3.4028234663852886e38, x)));",
    ),
    "A changed": (
        lambda a, b, c, turn: a.__setitem__((0, -1), 7.5),
        "a.values[a.columns - 1] = 7.5;",
    ),
}
JUDGED = """(size, seed, mischief) => {
  let turn = 0;
  const judge = new twin.Judge((a, b) => {
    const given = { ...a, values: a.values.slice() };
    const c = { rows: a.rows, columns: b.columns, values: new Float32Array(a.rows * b.columns) };
    for (let k = 0; k < a.columns; k += 1)
      for (let r = 0; r < a.rows; r += 1)
        for (let i = 0; i < b.columns; i += 1)
          c.values[r * b.columns + i] +=
            Math.fround(a.values[r * a.columns + k] * b.values[k * b.columns + i]);
    new Function("a", "b", "c", "turn", mischief)(a, b, c, turn);
    judge.refuseChanged("A", given, a);
    turn += 1;
    return c;
  }, size, seed);
  return judge.run();
}"""


class Drawing:
    """NumPy's generator with the methods of its older one, as checking/drawing.ts has it."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def randint(self, low: int, high: int, count: int | Size) -> Matrix:
        return self.generator.integers(low, high, count)

    def uniform(self, low: float, high: float, count: int | Size) -> Matrix:
        return low + (high - low) * self.generator.integers(0, 2**32, count) / 2**32


class Mischievous(Judge):
    """Multiplies on NumPy, and does something wrong."""

    def __init__(self, size: Size, seed: int, mischief: str) -> None:
        super().__init__(np, size, seed)
        self.random = Drawing(seed + self.m + 3 * self.n + 7 * self.k)
        self.mischief, self.turn = MISCHIEF[mischief][0], 0

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        given = a.copy()
        c = np.zeros((self.m, self.n), np.float32)
        for k in range(self.k):
            c += a[:, k : k + 1] * b[k : k + 1]
        self.mischief(a, b, c, self.turn)
        self.refuse_changed("A", given, a)
        self.turn += 1
        return c


def judged(size: Size, seed: int, mischief: str) -> dict[str, Any]:
    try:
        with np.errstate(all="ignore"):
            return {"gives": Mischievous(size, seed, mischief).run()}
    except WrongResultError as wrong:
        return {"says": str(wrong), "kind": "WrongResultError"}


def test_verdicts_are_the_same() -> None:
    cases = [(size, seed, name) for seed, size in enumerate(QUICK_SIZES) for name in MISCHIEF]
    cases.append(((1, 1, 300_000), 0, "nothing"))  # where whole numbers are -1, 0 and 1
    given = [(size, seed, MISCHIEF[name][1]) for size, seed, name in cases]
    said = answers({"twin": "checking/judge.ts"}, JUDGED, given)
    for case, one in zip(cases, said, strict=True):
        wanted = judged(*case)
        if "gives" in wanted:
            wanted["gives"] = pytest.approx(wanted["gives"], rel=1e-5)
        assert one == wanted, case
    wrong = {one["says"].split(" of ")[-1][:20] for one in said if "says" in one}
    assert len(wrong) > 20


def test_numbers_are_drawn_as_numpy_draws_them() -> None:
    ranges = [(0, -8, 9), (1, -1, 2), (2**32 - 1, 1, 5), (77, 0, 65536), (5, 1, 2), (13, 0, 3)]
    said = answers(
        {"twin": "checking/drawing.ts"},
        """(seed, low, high) => {
          const random = new twin.Drawing(seed);
          const first = [...random.integers(low, high - 1, 700)];
          const broken = [...random.uniform(-0.5, 0.5, 700)];
          return [first, broken, [...random.integers(low, high - 1, 9)]];
        }""",
        ranges,
    )
    for (seed, low, high), one in zip(ranges, said, strict=True):
        state = Drawing(seed)
        whole = state.randint(low, high, 700).tolist()
        broken = state.uniform(-0.5, 0.5, 700).astype(np.float32).tolist()
        assert one["gives"] == [whole, broken, state.randint(low, high, 9).tolist()]


def results() -> list[list[CheckResult]]:
    draw = random.Random(3)
    errors = [0.0, 0.005, 0.015, 0.025, 0.126, 0.5, 0.995, 1.0, 0.3333]

    def one() -> CheckResult:
        fault = draw.choice([None, None, "1 of 9 elements are wrong."])
        refusal = None if fault else draw.choice([None, None, "It is too large."])
        return CheckResult("tiled", 1, 2, draw.randint(1, 9), fault, refusal, draw.choice(errors))

    return [[one() for _ in range(draw.randint(0, 5))] for _ in range(300)]


def test_results_are_summed_up_alike() -> None:
    cases = results()
    given = [([vars(result) for result in case],) for case in cases]
    said = answers(
        {"twin": "checking/judge.ts"},
        "(some) => [twin.summary(some), twin.firstFault(some)]",
        given,
    )
    assert [one["gives"] for one in said] == [[summary(case), first_fault(case)] for case in cases]


def test_numbers_in_verdicts_are_written_alike() -> None:
    draw = random.Random(1)
    numbers = [0.0, 1.0, 100.0, -0.0001, 0.00012345678949, 99999999.95]
    numbers += [draw.uniform(0.1, 1) * 10 ** draw.randint(-3, 8) for _ in range(999)]
    template = "{value:nine}"
    said = answers(
        {"twin": "text.ts"},
        "(template, value) => twin.filled(template, { value })",
        [(template, number) for number in numbers],
    )
    assert [one["gives"] for one in said] == [filled(template, {"value": n}) for n in numbers]
    special = "[NaN, Infinity, -Infinity].map((value) => twin.filled('{value:nine}', { value }))"
    ((one),) = answers({"twin": "text.ts"}, f"() => {special}", [()])
    assert one["gives"] == ["nan", "inf", "-inf"]
