"""The ring of the pointer chase, and the microbenchmark kernels without a GPU."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.cuda.compiler import TARGETS, compile_source
from sgemm_lab.cuda.micro import micro_source
from sgemm_lab.measuring.microbench import random_ring

FILES = ("latency", "bandwidth", "arithmetic", "hold")


@given(st.integers(1, 3000), st.integers(1, 32))
def test_a_ring_visits_every_node_once_and_comes_back(nodes: int, node_elements: int) -> None:
    ring = random_ring(nodes, node_elements)
    assert ring.size == nodes * node_elements
    at, visited = 0, set()
    for _ in range(nodes):
        assert at % (8 * node_elements) == 0
        visited.add(at)
        at = int(ring[at // 8])
    assert at == 0
    assert len(visited) == nodes


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", [TARGETS[0], TARGETS[-1]])
def test_every_microbenchmark_compiles_without_spills(name: str, target: str) -> None:
    source = micro_source(name)
    entries = re.findall(r'extern "C" __global__ void (\w+)\(', source)
    assert entries
    for entry in entries:
        assert compile_source(source, f"{name}.cu", target, entry).spill_bytes == 0


def instructions(name: str, entry: str) -> str:
    ptx = compile_source(micro_source(name), f"{name}.cu", "sm_90", entry).ptx
    return ptx[ptx.index(f".entry {entry}(") :].partition("\n}\n")[0]


@pytest.mark.parametrize(
    ("name", "entry", "instruction", "least"),
    [
        ("latency", "chase_global", "ld.u64", 8),
        ("latency", "chase_shared", "ld.shared", 8),
        ("latency", "chase_constant", "ld.const", 8),
        ("latency", "chain_fma", "fma.rn.f32", 128),
        ("bandwidth", "read_past_l1", "ld.global.cg.v4", 4),
        ("bandwidth", "read_l1", "ld.global.ca.v4", 4),
        ("bandwidth", "read_shared", "ld.shared.v4", 8),
        ("bandwidth", "copy", "st.global.v4", 4),
        ("bandwidth", "read_strided", "ld.global.cg", 16),
        ("bandwidth", "read_4", "ld.global.cg.f32", 1),
        ("bandwidth", "read_16", "ld.global.cg.v4", 1),
        ("bandwidth", "read_4_by_four", "ld.global.cg.f32", 4),
        ("bandwidth", "read_16_by_four", "ld.global.cg.v4", 4),
        ("arithmetic", "fma_rate", "fma.rn.f32", 64),
    ],
)
def test_the_compiler_does_not_remove_the_measured_instructions(
    name: str, entry: str, instruction: str, least: int
) -> None:
    assert instructions(name, entry).count(instruction) >= least
