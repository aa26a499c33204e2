"""The ladder in WGSL, run in a browser: exact at awkward sizes, and what is wrong is found."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page
from turns import TAKES_TURNS

from sgemm_lab.kernel import Kernel
from sgemm_lab.wgsl.programs import all_programs, load_programs

MOST_THREADS = 256
"""Threads of a block that every card takes: maxComputeInvocationsPerWorkgroup of WebGPU."""
MOST_SHARED_BYTES = 16384
"""Bytes of shared memory that every card has: maxComputeWorkgroupStorageSize of WebGPU."""

pytestmark = [pytest.mark.browser, TAKES_TURNS]

BY_NAME = {program.name: program for program in load_programs()}
STEPS = all_programs()
CHECK = """async ({ name, source }) => {
  const program = lab.products.programsOf(name, source)[0];
  try {
    const compiled = await lab.products.compiledOn(card, program);
    await lab.checking.check(card, program, compiled);
    return null;
  } catch (fault) {
    return fault.message;
  }
}"""
WRONG = {
    "a sum begins one term late": ("naive", "var k = 0u", "var k = 1u", "is wrong at 1³"),
    "the last column is left out": ("naive", "col >= N", "col >= N - 1", "was not written"),
    "a row goes on in the next": (
        "tiled",
        "if (row < M && col < N)",
        "if (row < M)",
        "is wrong at",
    ),
    "A is read by columns": ("tiled", "A[row * K +", "A[row * N +", "is wrong at"),
    "the last window is left out": ("thread_tile_1d", "k0 < K;", "k0 + BK <= K;", "is wrong at 1³"),
    "a row is stored one off": ("register_cache", "ty * TM + i;", "ty * TM + i + 1;", "is wrong"),
    "the second window is the first": ("double_buffer", "k0 / BK % 2", "0u", "is wrong at"),
    "four are read past an edge": ("float4", "size.K % 4 == 0", "true", "is wrong at 3×5×7"),
    "no barrier before reading": (
        "tiled",
        "workgroupBarrier();  // no one reads a tile before all of it is there",
        "",
        "is wrong at",
    ),
    "it does not compile": ("naive", "acc +=", "acc =+", "does not compile: line"),
}


def checked(page: Page, name: str, source: str) -> Any:
    """Return what a check says of a program."""
    return page.evaluate(CHECK, {"name": name, "source": source})


@pytest.mark.parametrize("program", STEPS, ids=lambda program: program.name)
@pytest.mark.sampled(every=3)
def test_every_program_is_exact_at_awkward_sizes(with_card: Page, program: Kernel) -> None:
    assert checked(with_card, program.name, program.source) is None


@pytest.mark.parametrize(("name", "old", "new", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_program_is_found(
    with_card: Page, name: str, old: str, new: str, says: str
) -> None:
    source = BY_NAME[name].source
    assert old in source
    assert says in checked(with_card, name, source.replace(old, new))


@pytest.mark.parametrize("program", STEPS, ids=lambda program: program.name)
def test_a_program_asks_for_what_every_card_has(program: Kernel) -> None:
    threads = program.launch_shape(1, 1, 1).threads
    assert threads <= MOST_THREADS
    assert shared_bytes(program) <= MOST_SHARED_BYTES
    assert max(map(len, program.source.splitlines())) <= 100


def shared_bytes(program: Kernel) -> int:
    """Return the bytes of the arrays in shared memory, from their types."""
    total = 0
    names = dict(program.values)
    for kind in re.findall(r"^var<workgroup> \w+: (.+?);", program.source, re.M):
        element, *sides = re.fullmatch(r"((?:array<)+\w+), (.+)>", kind).groups()  # type: ignore[union-attr]
        count = {"vec4f": 16, "f32": 4}[element.rpartition("<")[2]]
        for side in sides[0].split(">, "):
            count *= eval(side.replace("/", "//"), {}, names)
        total += count
    return total
