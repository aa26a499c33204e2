"""A kernel's head in JavaScript says what it says in Python."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from in_node import answers

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.expression import UnreadableError, compiled
from sgemm_lab.kernel import parse_kernel
from sgemm_lab.tensor_map import TensorMap
from test_kernel import MAP, SOURCE, WRONG_MAPS, with_map

BOOK = load_kernels(variants=True)
SIZES = [(1, 1, 1), (17, 65, 33), (4096, 4096, 4096), (1, 0, 5), (3, 65537, 5)]
PIECES = [
    *("0", "1", "7", "32", "1024", "0x1F", "01", "1.5", "N", "TILE", "M", "other", "ceil"),
    *("min", "max", "ceil(", "min(", "max(", "(", "(", ")", ")", ",", " ", " ", "+", "-", "-"),
    *("*", "/", "/", "//", "%", "**", "<", "<<", "~", "[", "]", ".", "&", "$", "2 3"),
]
NAMES = {"N": 100, "M": 3, "TILE": 32}


def python(function: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Return what Python answers, in the form of ``answers``."""
    try:
        return {"gives": function(*given)}
    except (LabError, UnreadableError) as error:
        return {"says": str(error), "kind": type(error).__name__}


def camel_case(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass under their names in TypeScript."""
    return {re.sub("_(.)", lambda m: m[1].upper(), name): one for name, one in fields.items()}


def drawn_expressions() -> list[str]:
    draw = random.Random(13)
    soup = ["".join(draw.choices(PIECES, k=draw.randint(1, 9))) for _ in range(4000)]
    whole = []
    for _ in range(2000):
        text = draw.choice(["N", "M", "TILE", "4", "0", "9"])
        for _ in range(draw.randint(0, 5)):
            other = draw.choice(["N", "TILE", "2", "0", "7"])
            shape = draw.choice(
                ["({0} + {1})", "{0} - {1}", "{1} * {0}", "{0} / {1}", "ceil({0} / {1})", "-{0}",
                 "min({0}, {1})", "max({1}, {0})", "({0}) / ({1})", "{0} % {1}"]
            )  # fmt: skip
            text = shape.format(text, other)
        whole.append(text)
    return [*soup, *whole, "-" * 60 + "1", "", " 1", "1 "]


def test_expressions_are_read_alike() -> None:
    cases = [(text, NAMES) for text in drawn_expressions()]
    said = answers({"twin": "expression.ts"}, "(...given) => twin.wholeNumber(...given)", cases)
    wanted = [python(lambda text, names: compiled(text, names, ())(), *case) for case in cases]
    apart = [(c[0], w, s) for c, w, s in zip(cases, wanted, said, strict=True) if w != s]
    # Of two faults Python names the one that needs no values.
    apart = [one for one in apart if "divides by zero" not in one[2].get("says", "")]
    assert not apart, apart[:5]
    assert sum("gives" in one for one in wanted) > 1000
    assert sum("divides by zero" in one.get("says", "") for one in wanted) > 100


HEADS = [
    SOURCE,
    SOURCE.replace("// grid: ceil(N / BN), ceil(M / BM)\n", ""),
    SOURCE.replace("// title: A kernel\n// parent: none\n", ""),
    SOURCE.replace("chapter: 3", "chapter: three"),
    SOURCE.replace("ceil(N / BN), ceil(M / BM)", "ceil(N / BN)"),
    SOURCE.replace("ceil(N / BN), ceil(M / BM)", "min(SMS, ceil(N / BN)), max(1, M)"),
    SOURCE.replace("ceil(N / BN), ceil(M / BM)", "N / BN, M // BM"),
    SOURCE.replace("BM * BN / TM, 1", "BM / 0, 1"),
    SOURCE.replace("shared: 4", "shared: 0 - 4"),
    SOURCE.replace("BM * BN / TM, 1", "system(1), 1"),
    *(with_map(line) for line in (MAP, *WRONG_MAPS)),
]


def launch_of(name: str, source: str, size: tuple[int, int, int], sms: int) -> dict[str, Any]:
    shape = parse_kernel(name, source).launch_shape(*size, sms=sms)
    return {
        "grid": list(shape.grid),
        "block": list(shape.block),
        "sharedBytes": shape.shared_bytes,
        "workspaceBytes": shape.workspace_bytes,
        "maps": [camel_case(asdict(one)) for one in shape.maps],
    }


def test_launches_are_worked_out_alike() -> None:
    sources = [*((one.name, one.source) for one in BOOK), *(("sample", head) for head in HEADS)]
    cases = [(*one, size, sms) for one in sources for size in SIZES for sms in (132, 24)]
    said = answers(
        {"twin": "kernel.ts"},
        "(name, source, size, sms) => twin.launchShape(twin.parseKernel(name, source), size, sms)",
        cases,
    )
    assert said == [python(launch_of, *case) for case in cases]


def test_the_matrix_of_a_map_is_found_alike() -> None:
    cases = [
        (TensorMap("m", "fp32", matrix, offset, 4, columns, 64, 8, 8, 32), a, 32, 1024)
        for matrix in ("A", "B", None) for offset in (None, 0, 512)
        for columns in (4, 6) for a in (16, 20)
    ]  # fmt: skip
    given = [(camel_case(asdict(one)), *addresses) for one, *addresses in cases]
    said = answers({"twin": "tensor_map.ts"}, "(...given) => twin.addressOf(...given)", given)
    assert [one["gives"] for one in said] == [one.address(*addresses) for one, *addresses in cases]


def test_heads_are_read_alike() -> None:
    bare = re.sub(r"^(constexpr int .+;) *//.*$", r"\1", SOURCE, flags=re.M)
    cases = [*((one.name, one.source) for one in BOOK), ("sample", bare)]
    cases.append(("sample", with_map(MAP)))
    said = answers({"twin": "kernel.ts"}, "(...given) => twin.parseKernel(...given)", cases)
    wanted = [asdict(parse_kernel(*case)) for case in cases]
    for one in wanted:
        del one["defaults"]  # withConstants in JavaScript takes them as an argument
    assert [one["gives"] for one in said] == json.loads(json.dumps(wanted))


def changed(name: str, settings: dict[str, int]) -> dict[str, Any]:
    made = load_kernel(name).with_constants(**settings)
    return {"name": made.name, "source": made.source}


def test_constants_are_written_alike() -> None:
    settings = [{"TILE": 16}, {"BM": 64, "TM": 4}, {"BK": 0}, {"nothing": 1}, {}, {"BN": 128}]
    cases = [(one.name, some) for one in load_kernels() for some in settings]
    cases += [(one.name, {"BK": 16, "TILE": 8}) for one in BOOK]
    said = answers(
        {"twin": "kernel.ts"},
        """(source, name, settings, defaults) => {
          const kernel = twin.parseKernel(name, source);
          const { name: called, source: text } = twin.withConstants(kernel, settings, defaults);
          return { name: called, source: text };
        }""",
        [
            (load_kernel(name).source, name, some, load_kernel(name.partition(":")[0]).values)
            for name, some in cases
        ],
    )
    assert said == [python(changed, *case) for case in cases]
