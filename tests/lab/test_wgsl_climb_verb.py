"""``lab.wgsl_climb``: what the book's GPU measured in WGSL, beside CUDA."""

import json
import statistics

import pytest

from sgemm_lab import lab
from sgemm_lab.files import data_folder
from sgemm_lab.models.ladder import GPU
from sgemm_lab.records.webgpu_cards import card_path
from sgemm_lab.text import number
from sgemm_lab.wgsl.programs import all_programs


def test_every_program_stands_in_the_table_with_its_speed_and_that_in_cuda() -> None:
    climb = lab.wgsl_climb()
    kept = json.loads(card_path(data_folder("records"), GPU).read_text(encoding="utf-8"))
    medians = {one["name"]: statistics.median(one["seconds"]) for one in kept["rungs"]}
    assert list(climb.speeds) == [step.name for step in all_programs()]
    for name, seconds in medians.items():
        assert climb.gflops(name) == pytest.approx(2 * kept["size"] ** 3 / seconds / 1e9)
    lines = climb.text.splitlines()
    split = next(line for line in lines if line.startswith("Split"))
    assert number(climb.gflops("split")) in split
    assert f"{number(lab.speed('split'))} ×" in split
    assert f"×{climb.factor('split'):.2f}" in split
    assert next(line for line in lines if line.startswith("A in fours too")).endswith("–")


def test_a_step_that_builds_on_a_variant_is_compared_with_it() -> None:
    climb = lab.wgsl_climb()
    parent = "register_cache:BM=128,BN=128,TM=8,TN=8"
    expected = climb.gflops("transposed") / climb.gflops(parent)
    assert climb.factor("transposed") == pytest.approx(expected)
