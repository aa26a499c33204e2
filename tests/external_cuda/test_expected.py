"""What a reader expects of an array: arithmetic that is read, and never run as code."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from in_node import answers

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.launch import load_array

MODULES = {"expected": "external_cuda/expected.ts"}
EXPECTED = """(text, names) => {
  const known = new Map(Object.entries(names).map(([name, [sides, numbers]]) => {
    return [name, { sides, numbers: Float64Array.from(numbers) }];
  }));
  const [array, value] = expected.readExpectation(text);
  const { sides, numbers } = expected.expectedValues(value, known);
  return [array, sides, Array.from(numbers, (one) => `${one}`)];
}"""
X = np.arange(12.0)
A = np.arange(-6.0, 6.0).reshape(3, 4)
B = np.arange(8.0).reshape(4, 2) ** 2 - 9
V = np.array([3.0, -2.0, 0.5, 7.0])
NAMES = {"x": X, "y": -X, "n": 12.0, "M": 3.0, "A": A, "B": B, "v": V, "in": X}


def expected(text: str, names: dict[str, Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the name in an expectation, and what its text gives.

    Raises:
        LabError: the text is refused.
    """
    arrays = {name: np.asarray(one) for name, one in names.items()}
    given = {name: [list(one.shape), one.ravel().tolist()] for name, one in arrays.items()}
    [answer] = answers(MODULES, EXPECTED, [[text, given]])
    if answer.get("kind") == "LabError":
        raise LabError(answer["says"])
    name, sides, numbers = answer["gives"]
    return name, np.array([float(one.replace("Infinity", "inf")) for one in numbers]).reshape(sides)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("2*x + y", X),
        ("2 * in", 2 * X),
        ("x[::-1]", X[::-1]),
        ("x[1:4]", X[1:4]),
        ("x[-3:]", X[-3:]),
        ("x[:-5:2]", X[:-5:2]),
        ("x[x > 7]", X[X > 7]),
        ("A[1, 2]", A[1, 2]),
        ("A[1:, -1]", A[1:, -1]),
        ("x[:, None] * v", X[:, None] * V),
        ("reshape(x, M, 4).T", X.reshape(3, 4).T),
        ("reshape(x, M, 4) @ reshape(x, 4, M)", X.reshape(3, 4) @ X.reshape(4, 3)),
        ("reshape(x, 2, 3, 2) @ reshape(x, 2, 2, 3)", X.reshape(2, 3, 2) @ X.reshape(2, 2, 3)),
        ("(A @ B).T @ A", (A @ B).T @ A),
        ("dot(A, v)", A @ V),
        ("dot(x, x)", X @ X),
        ("sum(reshape(x, 3, 4), axis=1)", X.reshape(3, 4).sum(axis=1)),
        ("mean(A, axis=0)", A.mean(axis=0)),
        ("var(A, axis=1)", A.var(axis=1)),
        ("A - reshape(max(A, axis=1), 3, 1)", A - A.max(axis=1, keepdims=True)),
        ("maximum(x - 3, 0)", np.maximum(X - 3, 0)),
        ("minimum(A, v) * 1e-3", np.minimum(A, V) * 1e-3),
        ("where(x % 2 == 0, x, -x)", np.where(X % 2 == 0, X, -X)),
        ("sum(x > 7)", 4),
        ("(x + 1) ** -2", (X + 1) ** -2),
        ("-v ** 2", -(V**2)),
        ("y // 5 % 3", -X // 5 % 3),
        ("histogram(x // 5, 3)", [5, 5, 2]),
        ("sum(x) / n", 5.5),
        ("prod(v)", -21.0),
        ("cumsum(x)", np.cumsum(X)),
        ("sort(y)", np.sort(-X)),
        ("flip(A)", np.flip(A)),
        ("roll(x, 2)", np.roll(X, 2)),
        ("argmax(v) - argmin(v)", 2),
        ("convolve(x, v)", np.convolve(X, V, "same")),
        ("ravel(A)", A.ravel()),
        ("round(v) + sign(v) + isnan(v / 0 - v / 0)", np.round(V) + np.sign(V) + 1),
        (
            "sqrt(abs(v)) + tanh(n) + exp(v) - cos(v)",
            np.sqrt(abs(V)) + np.tanh(12) + np.exp(V) - np.cos(V),
        ),
        ("v / 0", V * np.inf),
        ("9**9**9", np.inf),
    ],
)
def test_arithmetic_on_arrays(text: str, right: npt.ArrayLike) -> None:
    np.testing.assert_allclose(expected(text, NAMES)[1], right, rtol=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "x.tofile('a')", "open('a')", "(lambda: 1)()", "[i for i in x]",
        "x.__class__", "q", "x +", "'a'", "x if n else y", "sum(x, out=y)", "x[9999999]", "x[0.5]",
        "reshape(x, 5, 5)", "x @ reshape(x, 3, 4)", "x << 2", "M and n", "x" + "+x" * 400 + ")",
        "sum(reshape(x, 3, 4), axis=7)", "reshape(x, 12, 1) < x < y", "constructor", "__proto__",
        "(" * 99 + "-" * 99 + "x" + ")" * 99, "A + B", "x.constructor", "sum(x, axis=-1)",
        "sum(x, axis=", "max(x, axis=n)", "x; x", "exp(x, x)", "(x", "x x", "reshape(x)",
        "toString()", "`x`", "x => x", "2 = x",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(LabError):
        expected(text, NAMES)


def test_nothing_larger_than_the_memory_is_made() -> None:
    long = {"x": np.zeros(2**14)}
    for text in ("reshape(x, 16384, 1) + x", "reshape(x, 16384, 1) @ reshape(x, 1, 16384)"):
        with pytest.raises(LabError, match="more than 67,108,864 elements"):
            expected(text, long)


def test_expectation_may_have_a_name() -> None:
    assert expected(" y = x == 2 ", NAMES)[0] == "y"
    assert expected("sum(x, axis=0)", NAMES)[0] == ""
    assert expected(" x == 2", NAMES)[0] == ""
    for text in ("", "y =", "= 2"):
        with pytest.raises(LabError, match="expects nothing"):
            expected(text, NAMES)


def test_files_hold_numbers_and_no_code(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "c.npy").write_text("nothing")
    assert load_array(tmp_path / "a.npy").tolist() == [0, 1, 2, 3, 4]
    for name in ("b.npy", "c.npy", "absent.npy"):
        with pytest.raises(LabError, match=r"cannot be read as an array"):
            load_array(tmp_path / name)
