"""What a kernel's source calls the registers that the step-through draws."""

import re
from collections.abc import Sequence
from typing import TypedDict

_SUM = re.compile(r"(?P<sum>[A-Za-z_]\w*(?:\[[^\]]*\])*)\s*\+=\s*(?P<product>[^;]+);")
_FETCH = r"(?:^|[\s(])(\w+)(?:\[\w+\])?\s*=[^=;][^;]*\b{matrix}\w*\["
_SHARED = re.compile(r"(?:__shared__[^;]*?\b|\bauto& )(\w+)(?:\[| = \*reinterpret_cast)")
_VECTOR = r"\bfloat4\s+(?:\w+(?:\[\w+\])?\s*,\s*)*{name}\b"


class Fetched(TypedDict):
    """A variable that holds what comes from global memory on its way to shared memory."""

    name: str
    vector: bool  # a float4: its elements are .x .y .z .w


class RegisterNames(TypedDict):
    """Names as the source has them, with its own indices: "acc[i][j]", "fragA[i]", "a"."""

    sum: str
    a: str
    b: str
    fetched_a: Fetched | None  # None where the value has no name
    fetched_b: Fetched | None


def register_names(source: Sequence[str], line: str) -> RegisterNames:
    """Return the names of a kernel whose products are made at a line.

    Where that line is not a sum and a product, such as ``acc += a * b;``, the sum is called "sum"
    and the factors "a" and "b".
    """
    found = _SUM.search(line)
    factors = _factors(found["product"]) if found else []
    names = factors if len(factors) == 2 else ["a", "b"]
    if re.search(r"\bB", names[0]) and re.search(r"\bA", names[1]):
        names.reverse()
    return {
        "sum": found["sum"] if found else "sum",
        "a": names[0],
        "b": names[1],
        "fetched_a": _fetched(source, "A"),
        "fetched_b": _fetched(source, "B"),
    }


def _factors(product: str) -> list[str]:
    """Split a product at the signs that stand outside of brackets."""
    factors, depth = [""], 0
    for sign in product:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(sign, 0)
        if sign == "*" and not depth:
            factors.append("")
        else:
            factors[-1] += sign
    return [factor.strip() for factor in factors]


def _fetched(source: Sequence[str], matrix: str) -> Fetched | None:
    code = [line.partition("//")[0] for line in source]
    fetch = re.compile(_FETCH.format(matrix=matrix))
    # Shared arrays, such as As, begin like the matrix.
    shared = [name for line in code for name in _SHARED.findall(line)]
    for line in code:
        for name in shared:
            line = re.sub(rf"\b{name}\[", "[", line)
        found = fetch.search(line)
        if found:
            vector = re.compile(_VECTOR.format(name=found[1]))
            return {"name": found[1], "vector": any(map(vector.search, code))}
    return None
