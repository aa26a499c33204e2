"""The reference of the check, in JavaScript: right products pass, every other is found."""

import random

import pytest
from in_node import answers

MODULES = {"exact": "wgsl/exact.ts"}
SIZES = [(1, 1, 1), (3, 5, 7), (17, 4, 33), (2, 60, 8)]
JUDGED = """(size, judge, at, off) => {
  const [m, n, k] = size;
  const a = exact.wholeNumbers(m * k, 1);
  const b = exact.wholeNumbers(k * n, 2);
  const c = new Float32Array(m * n);
  for (let row = 0; row < m; row++) {
    for (let col = 0; col < n; col++) {
      for (let i = 0; i < k; i++) c[row * n + col] += a[row * k + i] * b[i * n + col];
    }
  }
  if (off !== null) c[at] += off === "NaN" ? NaN : off;
  return exact[judge](a, b, c, size);
}"""


@pytest.mark.parametrize("judge", ["faultOf", "faultOfLarge"])
def test_a_right_product_passes_and_one_wrong_element_is_found(judge: str) -> None:
    draw = random.Random(5)
    places = [(size, draw.randrange(size[0] * size[1])) for size in SIZES for _ in range(20)]
    right = answers(MODULES, JUDGED, [(size, judge, 0, None) for size in SIZES])
    assert [one["gives"] for one in right] == [None] * len(SIZES)
    offs = [1, -1, 0.5, "NaN"]
    cases = [(size, judge, at, off) for size, at in places for off in offs]
    for (size, _, at, off), said in zip(cases, answers(MODULES, JUDGED, cases), strict=True):
        row, col = divmod(at, size[1])
        where = f"C[{row}][{col}]" if judge == "faultOf" else f"Row {row} of C"
        assert said["gives"].startswith(where), (size, at, off)
        if off == "NaN" and judge == "faultOf":
            assert "was not written" in said["gives"]


def test_inputs_are_whole_numbers_that_a_float_adds_exactly() -> None:
    drawn = answers(MODULES, "(count, seed) => [...exact.wholeNumbers(count, seed)]", [(4000, 9)])
    values = drawn[0]["gives"]
    assert set(values) == set(range(-8, 9))
    assert max(map(abs, values)) ** 2 * 4096 < 2**24
