"""What widgets compute in TypeScript alone, at cases with known numbers."""

import re
from typing import Any, NamedTuple

import pytest
from in_node import answers

MODULES = {
    "limits": "models/limits.ts",
    "waves": "formulas/wave_quantization.ts",
}
CALLED = "(module, name, ...given) => ({ limits, waves })[module][name](...given)"
LARGE = {"m": 4096, "n": 4096, "k": 4096, "bm": 128, "bn": 256, "bk": 8}
ROOFED = {
    "id": "one",
    "name": "One",
    "peak_gflops": 8000.0,
    "levels": [
        {"id": "dram", "label": "DRAM", "gbs": 1000.0, "measured": True},
        {"id": "l2", "label": "L2", "gbs": 2000.0, "measured": True},
        {"id": "shared", "label": "Shared memory", "gbs": 4000.0, "measured": True},
    ],
}


class Case(NamedTuple):
    """A call, and its answer or a part of a text that it answers."""

    module: str
    name: str
    given: tuple[Any, ...]
    answer: Any


def points(gflops: float, kind: str = "measured", **intensities: float) -> list[dict[str, Any]]:
    """A kernel's points below roofs of 1,000, 3,000 and 5,000 GFLOP/s."""
    placed = {"dram": 1.0, "l2": 1.5, "shared": 1.25} | intensities
    return [
        {"level": level, "kind": kind, "intensity": intensity, "gflops": gflops}
        for level, intensity in placed.items()
    ]


def limit(of: list[dict[str, Any]], words: str | re.Pattern[str]) -> Case:
    return Case("limits", "limitWords", (ROOFED, of), words)


def waves(words: str, **changes: int) -> Case:
    return Case("waves", "distributionWords", (LARGE | changes, 132), words)


ABOVE = [point for point in points(1251.0) if point["level"] == "dram"]
BOUND = [one | {"bound_by": "L1", "bound_gflops": 2000.0} for one in points(500.0)]
CASES = [
    limit(points(900.0), "is DRAM, 1,000 GFLOP/s; it reaches 90 % of that. The next is L2 at 3,000:"
          " it takes 3 times fewer DRAM bytes per FLOP."),
    # At half of its roof, bytes hold it: the sentence ends there.
    limit(points(500.0), re.compile("DRAM bytes per FLOP[.]$")),
    limit(points(499.0), "something other than bytes holds it back"),
    limit(points(900.0, l2=4.0), "The next is shared memory at 5,000"),
    limit(points(1251.0), "is L2, 3,000 GFLOP/s"),
    # A warp's multiply-adds are 64 FLOP, a wavefront 128 bytes.
    limit(points(4000.0, dram=9.0, l2=9.0), "5,000 GFLOP/s (0.4 wavefronts per multiply-add"),
    limit(points(4000.0, dram=9.0, l2=9.0), "1.6 times fewer wavefronts per multiply-add."),
    limit(points(500.0, dram=9.0, l2=9.0, shared=9.0), "lower than the FP32 peak, 8,000 GFLOP/s"),
    limit(BOUND, "L1 sets the limit, 2,000 GFLOP/s. The kernel reaches 25 % of it."),
    limit(points(900.0, "predicted"), "DRAM would leave it 1,000 GFLOP/s"),
    limit(points(900.0, "predicted"), "takes 8 times fewer bytes"),
    limit(ABOVE, "1.25 times"),
    limit([point | {"gflops": 1250.0} for point in ABOVE], "it reaches 125 % of that"),
    waves("512 tiles on 132 SMs: 3 whole waves and a last one of 116 tiles. In it "
          "16 SMs are idle. 97 % of the time of all SMs is used."),
    waves("132 tiles on 132 SMs: 1 for each. No SM is ever idle.", m=128 * 132, n=256),
    waves("1 tile for 132 SMs: 131 SMs are idle. 0.8 % "
          "of the time of all SMs is used. 50 % of the products fall beyond the edge of C.",
          m=64, n=256),
]  # fmt: skip


@pytest.fixture(scope="module")
def found() -> list[Any]:
    """The answers to all cases, from one run of Node."""
    cases = [(case.module, case.name, *case.given) for case in CASES]
    return [answer["gives"] for answer in answers(MODULES, CALLED, cases)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: f"{CASES[n].name}-{n}")
def test_it_answers_as_reckoned_by_hand(found: list[Any], number: int) -> None:
    case, answer = CASES[number], found[number]
    if isinstance(case.answer, str):
        assert case.answer in answer
    elif isinstance(case.answer, re.Pattern):
        assert case.answer.search(answer)
    elif isinstance(case.answer, dict):
        assert {key: answer[key] for key in case.answer} == case.answer
    else:
        assert answer == case.answer
