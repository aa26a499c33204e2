"""What a reader expects of an array: arithmetic that is read, and never run as code."""

from pathlib import Path

import numpy as np
import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.expected import expected_values, load_array, read_expectation

X = np.arange(12.0)
NAMES = {"x": X, "y": -X, "n": 12, "M": 3}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("2*x + y", X),
        ("x[::-1]", X[::-1]),
        ("x[1:4]", X[1:4]),
        ("reshape(x, M, 4).T", X.reshape(3, 4).T),
        ("reshape(x, M, 4) @ reshape(x, 4, M)", X.reshape(3, 4) @ X.reshape(4, 3)),
        ("sum(reshape(x, 3, 4), axis=1)", X.reshape(3, 4).sum(axis=1)),
        ("maximum(x - 3, 0)", np.maximum(X - 3, 0)),
        ("where(x % 2 == 0, x, -x)", np.where(X % 2 == 0, X, -X)),
        ("(x + 1) ** -2", (X + 1) ** -2),
        ("histogram(x // 5, 3)", [5, 5, 2]),
        ("sum(x) / n", 5.5),
        ("reshape(x, 3, 4)[1, 2]", 6.0),
        ("cumsum(x)", np.cumsum(X)),
        ("9**9**9", np.inf),
    ],
)
def test_arithmetic_on_arrays(text: str, right: object) -> None:
    np.testing.assert_array_equal(expected_values(text, NAMES), right)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "x.tofile('a')", "open('a')", "(lambda: 1)()", "[i for i in x]",
        "x.__class__", "q", "x +", "'a'", "x if n else y", "sum(x, out=y)", "x[9999999]",
        "reshape(x, 5, 5)", "x @ reshape(x, 3, 4)", "x << 2", "M and n", "x" + "+x" * 400 + ")",
        "sum(reshape(x, 3, 4), axis=7)", "reshape(x, 12, 1) < x < y",
        "(" * 99 + "-" * 99 + "x" + ")" * 99,
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(LabError):
        expected_values(text, NAMES)


def test_nothing_larger_than_the_memory_is_made() -> None:
    long = {"x": np.zeros(2**14)}
    for text in ("reshape(x, 16384, 1) + x", "reshape(x, 16384, 1) @ reshape(x, 1, 16384)"):
        with pytest.raises(LabError, match="more than 67,108,864 elements"):
            expected_values(text, long)


def test_expectation_may_have_a_name() -> None:
    assert read_expectation(" y = x == 2 ") == ("y", "x == 2")
    assert read_expectation("sum(x, axis=1)") == ("", "sum(x, axis=1)")
    assert read_expectation(" x == 2") == ("", "x == 2")
    for text in ("", "y =", "= 2"):
        with pytest.raises(LabError, match="expects nothing"):
            read_expectation(text)


def test_files_hold_numbers_and_no_code(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "c.npy").write_text("nothing")
    assert expected_values(str(tmp_path / "a.npy"), {}).tolist() == [0, 1, 2, 3, 4]
    for name in ("b.npy", "c.npy", "absent.npy"):
        with pytest.raises(LabError, match=r"cannot be read as an array"):
            load_array(tmp_path / name)
