"""Approximations, directed rounding and 16-bit floats: against exact numbers."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from golden_launch import Case
from inside import inside, plain_launch
from test_instructions import ptx_around

from sgemm_lab.simulator import simulate
from sgemm_lab.simulator.worker import TABLES

EDGES = np.array(
    [0, -0.0, 1, -1, 0.5, 2, 3, -7.25, 1e-40, -1e-40, 1e-30, 1e30, 3.4e38, -3.4e38, 65504, 65520,
     np.inf, -np.inf, np.nan, 2.0**-24, 2.0**-14, 1.0009765625, 88.7, -104],
    np.float32,
)  # fmt: skip
RANDOM = np.random.default_rng(5)
X = np.concatenate([EDGES, RANDOM.normal(0, 3, 104).astype(np.float32)])
Y = np.concatenate([np.roll(EDGES, 7), RANDOM.normal(0, 1, 104).astype(np.float32)])
Z = np.concatenate([np.roll(EDGES, 11), (RANDOM.normal(0, 1, 104) * 1e-6).astype(np.float32)])
WORDS = RANDOM.integers(0, 2**32, (3, 128), dtype=np.uint32)
WORDS[:, :16] = RANDOM.choice([0, 0x80008000, 0x7C00FC00, 0x7E007F80, 0x3C003F80], (3, 16))
"""Any pairs of 16-bit floats, with zeros, infinities and NaN."""

MEASURED = {
    "ex2.approx.ftz.f32 %d, %a;": np.exp2,
    "ex2.approx.f32 %d, %a;": np.exp2,
    "rcp.approx.ftz.f32 %d, %a;": lambda x: 1 / x,
    "rsqrt.approx.f32 %d, %a;": lambda x: 1 / np.sqrt(x),
}
"""What Python gives as an H200 rounded it. The tables are no part of the pages."""
FLOATS = {
    "lg2.approx.f32 %d, %a;": np.log2,
    "sqrt.approx.f32 %d, %a;": np.sqrt,
    "sin.approx.f32 %d, %a;": np.sin,
    "cos.approx.f32 %d, %a;": np.cos,
    "tanh.approx.f32 %d, %a;": np.tanh,
}
DIRECTED = {
    "add.rz.f32 %d, %a, %b;": "fma.rz.f32 %d, %a, 0f3F800000, %b;",
    "sub.rm.f32 %d, %a, %b;": "neg.f32 %c, %b; fma.rm.f32 %d, %a, 0f3F800000, %c;",
    "mul.rp.f32 %d, %a, %b;": "fma.rp.f32 %d, %a, %b, 0f00000000;",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Infinities and NaN are ordinary values here."""
    with np.errstate(all="ignore"):
        yield


def case(body: str, values: tuple[np.ndarray, ...]) -> Case:
    ptx = ptx_around(body, np.dtype(np.uint32))
    ptx = ptx.replace(".reg .b16 %h;", ".reg .b16 %h, %i, %k, %l; .reg .b64 %f, %g;")
    given = [one.view(np.uint32) for one in values]
    args = dict(zip("ABCD", [*given, np.zeros(len(X), values[0].dtype)], strict=True))
    return Case(body, ptx, "k", (1,), (len(X),), args)


def run(body: str, values: tuple[np.ndarray, ...] = (X, Y, Z)) -> np.ndarray:
    one = case(body, values)
    return simulate(one.ptx, "k", one.grid, one.block, one.args).arrays["D"]


def nearest(body: str) -> np.ndarray:
    function = (FLOATS | MEASURED)[body]
    right = function(X.astype(np.float64)).astype(np.float32)
    if "ftz" in body:
        tiny = np.abs(X) < 2.0**-126
        right[tiny] = function(np.copysign(0.0, X[tiny].astype(np.float64)))
        right[np.abs(right) < 2.0**-126] *= np.float32(0)
    return right


@pytest.mark.parametrize("body", FLOATS)
def test_approximations_are_the_nearest_numbers(body: str) -> None:
    np.testing.assert_array_equal(run(body).view(np.float32), nearest(body))


@pytest.mark.parametrize("body", MEASURED)
def test_measured_approximations_are_near_and_in_pages_the_nearest(body: str) -> None:
    right = nearest(body)
    found = run(body).view(np.float32)
    special = ~np.isfinite(right) | (np.abs(right) < 2.0**-126)
    np.testing.assert_array_equal(found[special], right[special])
    away = np.abs(found[~special].view(np.int32) - right[~special].view(np.int32))
    assert away.max() <= 2
    assert (away > 0).any()
    (page,) = inside("launched", [plain_launch(case(body, (X, Y, Z)))])
    made = np.array(page, np.uint32).view(np.float32)
    np.testing.assert_array_equal(made, right)


def test_division_multiplies_with_the_measured_reciprocal() -> None:
    found = run("div.approx.f32 %d, %a, %b;").view(np.float32)
    fine = (np.abs(Y) > 2.0**-100) & (np.abs(Y) < 2.0**100) & np.isfinite(X)
    inverse = run("rcp.approx.f32 %d, %a;", (Y, Y, Y)).view(np.float32)
    right = X * inverse
    np.testing.assert_array_equal(found[fine], right[fine])
    away = np.abs(found[fine] / (X[fine] / Y[fine]) - 1)
    assert np.nanmax(away) < 2.0**-21


@pytest.mark.parametrize("function", ["powerOfTwo", "reciprocal", "reciprocalRoot"])
def test_measured_functions_go_one_way(function: str) -> None:
    given = np.linspace(0.75, 6, 20_001).astype(np.float32).tolist()
    steps = np.diff(inside("measuredFunction", function, str(TABLES), given))
    assert (steps >= 0).all() or (steps <= 0).all()


@pytest.mark.parametrize("direction", ["rm", "rp", "rz"])
def test_multiply_add_is_rounded_in_its_direction(direction: str) -> None:
    found = run(f"fma.{direction}.f32 %d, %a, %b, %c;").view(np.float32)
    checked = 0
    for x, y, z, got in zip(X, Y, Z, found, strict=True):
        if not np.isfinite([x, y, z, got]).all():
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        down = direction == "rm" or (direction == "rz" and exact > 0)
        made, inwards = Fraction(float(got)), np.float32(-np.inf if down else np.inf)
        beyond = float(np.nextafter(got, -inwards))
        assert made <= exact if down else made >= exact
        if np.isfinite(beyond):
            assert Fraction(beyond) > exact if down else Fraction(beyond) < exact
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("body", DIRECTED)
def test_sums_and_products_are_rounded_as_multiply_adds(body: str) -> None:
    found, right = (run(one).view(np.float32) for one in (body, DIRECTED[body]))
    np.testing.assert_array_equal(found, right)


def test_double_multiply_add_is_rounded_once() -> None:
    a, b = (RANDOM.normal(0, 1, 400) / 3 for _ in range(2))
    c = np.where(RANDOM.random(400) < 0.5, -a * b, RANDOM.normal(0, 1, 400) * 2.0**-40)
    terms = np.stack([a, b, c], axis=1)
    given = [[repr(float(one)) for one in row] for row in terms]
    for (x, y, z), text in zip(terms, inside("fmaOfDoubles", given), strict=True):
        got = float(text)
        # Python divides whole numbers, and so fractions, with one rounding.
        assert got == float(Fraction(x) * Fraction(y) + Fraction(z))
    special = [["Infinity", "0", "1"], ["1e100", "1e100", "-Infinity"], ["0", "5", "1e-310"]]
    assert inside("fmaOfDoubles", special) == ["NaN", "-Infinity", "1e-310"]


def parts(words: np.ndarray, type_: str) -> np.ndarray:
    halves = words.view(np.uint16)
    if type_ == "f16":
        return halves.view(np.float16).astype(np.float64)
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["add", "sub.rn", "mul", "fma.rn"])
def test_pairs_of_16_bit_floats_are_rounded_once(op: str, type_: str) -> None:
    operands = "%a, %b, %c" if op == "fma.rn" else "%a, %b"
    found = parts(run(f"{op}.{type_}x2 %d, {operands};", tuple(WORDS)), type_)
    a, b, c = (parts(words, type_) for words in WORDS)
    steps, least = (11, -24) if type_ == "f16" else (8, -133)
    checked = 0
    for x, y, z, got in zip(a, b, c, found, strict=True):
        if not np.isfinite([x, y, z, got]).all():
            continue
        x, y, z = map(Fraction, (x, y, z))
        exact = {"add": x + y, "sub.rn": x - y, "mul": x * y, "fma.rn": x * y + z}[op]
        exponent = np.frexp(float(got))[1] if got else least
        unit = Fraction(2) ** max(int(exponent) - steps, least)
        assert abs(Fraction(float(got)) - exact) <= unit / 2
        checked += 1
    assert checked > 150


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("op", "right"),
    [("min", np.fmin), ("max", np.fmax), ("neg", lambda a, b: -a), ("abs", lambda a, b: abs(a))],
)
def test_the_smaller_the_larger_and_the_sign_of_16_bit_floats(
    op: str, right: Callable[..., np.ndarray], type_: str
) -> None:
    operands = "%a, %b" if op in ("min", "max") else "%a"
    found = parts(run(f"{op}.{type_}x2 %d, {operands};", tuple(WORDS)), type_)
    np.testing.assert_array_equal(found, right(*(parts(one, type_) for one in WORDS[:2])))


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("compare", ["lt", "ltu", "ne", "neu", "ge"])
def test_comparisons_of_16_bit_floats(compare: str, type_: str) -> None:
    values = (WORDS[0], np.where(np.arange(128) % 3, WORDS[1], WORDS[0]), WORDS[2])
    found = parts(run(f"set.{compare}.{type_}x2.{type_}x2 %d, %a, %b;", values), type_)
    a, b = (parts(words, type_) for words in values[:2])
    nan = np.isnan(a) | np.isnan(b)
    holds = {"lt": a < b, "ne": a != b, "ge": a >= b}[compare.removesuffix("u")]
    right = holds | nan if compare.endswith("u") else holds & ~nan
    assert nan.any()
    assert found.tolist() == right.astype(float).tolist()
