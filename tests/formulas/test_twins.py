"""What Python and JavaScript both know: drawn inputs, one answer."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser
from widget_samples import GPUS

import sgemm_lab
from sgemm_lab import text
from sgemm_lab.bundles import bundled
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.formulas import occupancy, sentence, wave_quantization
from sgemm_lab.formulas.roofs import reference_levels, roof_at
from sgemm_lab.gemm.dispatch.candidates import is_candidate
from sgemm_lab.gemm.dispatch.pick import Picker
from sgemm_lab.lab.dispatcher import kernel_choice
from sgemm_lab.records.dispatch_table import load_tables
from sgemm_lab.widgets.occupancy import Occupancy, Sm

PACKAGE = Path(sgemm_lab.__file__).parent
MODULES = {
    "text": "text.ts",
    "dispatch": "gemm/dispatch/model.ts",
    "occupancy": "formulas/occupancy.ts",
    "roofs": "formulas/roofs.ts",
    "sentences": "formulas/sentences.ts",
    "waves": "formulas/wave_quantization.ts",
}
TEMPLATES = text.templates(PACKAGE / "formulas" / "sentences.json")
SMS = {
    gpu["id"]: gpu
    for gpu in Occupancy(
        [Sm(id=name, name=name, compute_capability=name) for name in occupancy.LIMITS]
    ).gpus
}
CHOICE = kernel_choice()
PICKERS = {table.gpu.name: Picker(table.gpu, load_tables()) for table in load_tables()}
LEVELS = ["dram", "l2", "l1", "shared", "register"]


class Twin(NamedTuple):
    """Something that is written twice."""

    name: str
    cases: st.SearchStrategy[Any]
    python: Callable[..., Any]
    javascript: str
    """A function of the same arguments; the modules are in scope by name."""


sides = st.integers(1, 5000)
speeds = st.floats(0.5, 1e5)


@st.composite
def launches(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A compute capability and a launch, often at a border where one block more would fit."""
    capability = draw(st.sampled_from([*occupancy.LIMITS]))
    most = occupancy.LIMITS[capability].shared_per_sm
    borders = st.integers(1, 32).map(lambda blocks: most // blocks // 128 * 128 - 1024)
    shared = st.just(0) | borders | borders.map(lambda byte: byte + 1) | st.integers(0, most)
    return capability, {
        "threads": draw(st.integers(1, 32).map(lambda warps: 32 * warps) | st.integers(0, 1030)),
        "registers": draw(st.integers(1, 64) | st.integers(0, 257)),
        "shared": draw(shared),
    }


def gpus() -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(GPUS)


@st.composite
def filled_sentences(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A sentence's key, and a value for each of its places: numbers where they are formatted."""
    key = draw(st.sampled_from([*TEMPLATES]))
    places = re.findall(r"\{(\w+)(:?)", TEMPLATES[key])
    numbers = st.integers(1, 10**6)
    return key, {name: draw(numbers) if formatted else "x" for name, formatted in places}


def python_fit(capability: str, launch: dict[str, int]) -> list[Any]:
    limits, one = occupancy.LIMITS[capability], occupancy.Launch(**launch)
    refused = occupancy.refusal(limits, one)
    if refused:
        return [refused, 0, 0, 0, []]
    fit = occupancy.occupancy(limits, one)
    binding = [name for name, most in fit.room.items() if most == fit.blocks]
    return [refused, fit.blocks, fit.warps, fit.share, binding]


def python_tiles(product: dict[str, int], sms: int, least: int) -> list[Any]:
    one = wave_quantization.Product(**product)
    return [
        {"rows": one.rows, "columns": one.columns, "tiles": one.tiles, "kTiles": one.k_tiles},
        wave_quantization.max_tiles_per_sm(one.tiles * one.k_tiles, sms),
        wave_quantization.uses_stream_k(one.tiles, one.k_tiles, sms, least),
    ]


products = st.builds(
    dict,
    **dict.fromkeys(("m", "n", "k"), sides | st.integers(1, 40).map(lambda some: 128 * some)),
    bm=st.sampled_from([1, 32, 64, 128]),
    bn=st.sampled_from([1, 32, 64, 256]),
    bk=st.sampled_from([1, 8, 32]),
)


@st.composite
def candidates_at_sizes(draw: st.DrawFn) -> tuple[str, int, dict[str, Any], list[int]]:
    """Return a GPU, its SMs, a candidate of its model, and M, N, K."""
    gpu = draw(st.sampled_from(CHOICE.gpus))
    side = st.integers(1, 16384) | st.sampled_from([1, 16, 256, 1024, 4096])
    one = draw(st.sampled_from(gpu["candidates"]))
    return gpu["id"], gpu["sms"], one, [draw(side) for _ in range(3)]


def candidate_time(gpu: str, _sms: int, one: dict[str, Any], size: list[int]) -> list[Any]:
    kernel, (m, n, k) = load_kernel(one["name"]), size
    return [PICKERS[gpu].predict(kernel, (m, n, k)), is_candidate(kernel, (m, n, k))]


TWINS = [
    Twin(
        "the time of a candidate",
        candidates_at_sizes(),
        candidate_time,
        "(gpu, sms, one, size) => [dispatch.seconds(one, size, sms),"
        " dispatch.isCandidate(one, size)]",
    ),
    Twin(
        "numbers",
        st.tuples(st.floats(1e-4, 1e9) | st.integers(1, 10**6) | st.sampled_from([99.96, 9.995])),
        lambda value: [text.number(value), text.ratio(value), text.tenths(value)],
        "(value) => [text.number(value), text.ratio(value), `${text.tenths(value)}`]",
    ),
    Twin(
        "shares",
        st.tuples(st.floats(1e-6, 2)),
        lambda share: [text.percent(share), text.tenths_percent(share)],
        "(share) => [text.percent(share), text.tenthsPercent(share)]",
    ),
    Twin(
        "counts",
        st.tuples(st.integers(0, 10**9), st.lists(sides, min_size=3, max_size=3)),
        lambda count, size: [text.plural(count, "sector"), text.size_text(size)],
        "(count, size) => [text.plural(count, 'sector'), text.sizeText(size)]",
    ),
    Twin(
        "sentences",
        filled_sentences(),
        lambda key, values: sentence(key, **values),
        "(key, values) => sentences.sentence(key, values)",
    ),
    Twin(
        "occupancy",
        launches(),
        python_fit,
        """(capability, launch) => {
          const sm = sms[capability];
          const { blocks, warps, share, binding } = occupancy.fitOf(sm, launch);
          return [occupancy.refusal(sm, launch), blocks, warps, share, binding];
        }""",
    ),
    Twin(
        "tiles on SMs",
        st.tuples(products, st.integers(1, 200), st.integers(1, 40)),
        python_tiles,
        """(product, sms, least) => {
          const { tiles, kTiles } = waves.tilesOf(product);
          return [waves.tilesOf(product), waves.maxTilesPerSm(tiles * kTiles, sms),
                  waves.usesStreamK(tiles, kTiles, sms, least)];
        }""",
    ),
    Twin(
        "numbers with powers of ten",
        st.tuples(st.floats(1e-12, 1e-2)),
        text.error_text,
        "(error) => text.errorText(error)",
    ),
    Twin(
        "roofs",
        st.tuples(gpus(), st.sampled_from(LEVELS), st.floats(0.01, 1000)),
        lambda gpu, level, intensity: [
            roof_at(gpu, level, intensity),
            [one["label"] for one in reference_levels(gpu)],
        ],
        """(gpu, level, intensity) => [
          roofs.roofAt(gpu, level, intensity).gflops,
          roofs.referenceLevels(gpu).map(({ label }) => label),
        ]""",
    ),
]

Javascript = Callable[[Twin, list[Any]], list[Any]]


@pytest.fixture(scope="module")
def javascript(chromium: Browser) -> Iterator[Javascript]:
    """Return what runs a twin's JavaScript, as it is shipped, on some cases."""
    page = chromium.new_page()
    page.evaluate(
        """async ([texts, sms]) => {
             window.sms = sms;
             for (const [name, text] of Object.entries(texts)) {
               const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
               Object.defineProperty(window, name, { value: (await import(url)).default });
             }
           }""",
        [{name: bundled(PACKAGE / path) for name, path in MODULES.items()}, SMS],
    )

    def run(twin: Twin, cases: list[Any]) -> list[Any]:
        answers: list[Any] = page.evaluate(
            f"(cases) => JSON.parse(cases).map((case_) => ({twin.javascript})(...case_))",
            json.dumps(cases),
        )
        return answers

    yield run
    page.close()


def same(one: Any, other: Any) -> bool:
    """Whether two answers agree; the last bits of a fraction may differ."""
    if isinstance(one, float) and isinstance(other, int | float):
        return one == pytest.approx(other, rel=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_python_and_javascript_agree(javascript: Javascript, twin: Twin) -> None:
    @given(st.lists(twin.cases, min_size=1, max_size=12))
    @settings(max_examples=15, deadline=None)
    def check(cases: list[Any]) -> None:
        expected = json.loads(json.dumps([twin.python(*case) for case in cases]))
        answers = javascript(twin, cases)
        for case, mine, theirs in zip(cases, expected, answers, strict=True):
            assert same(mine, theirs), f"{case}: Python says {mine}, JavaScript {theirs}"

    check()
