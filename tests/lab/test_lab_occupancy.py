"""The verb ``lab.occupancy``."""

import pytest

from sgemm_lab import lab
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.gpu import GPUS
from sgemm_lab.widgets import Occupancy


def test_kernels_bring_what_the_compiler_says_of_each_target() -> None:
    widget = lab.occupancy("split", "tiled", gpu="t4")
    assert isinstance(widget, Occupancy)
    split = widget.kernels[0]
    assert widget.kernel == "split"
    assert widget.threads == split["threads"] == 256
    for gpu in GPUS:
        target = f"sm_{gpu.compute_capability.replace('.', '')}"
        compiled = compile_kernel(load_kernel("split"), target)
        assert split["registers"][gpu.compute_capability] == compiled.registers
    assert widget.registers == split["registers"]["7.5"]
    assert widget.shared == split["shared"] == compiled.shared_bytes


def test_dynamic_shared_memory_follows_from_the_size() -> None:
    widget = lab.occupancy("strip", size=(4096, 4096, 192))
    assert isinstance(widget, Occupancy)
    assert widget.shared == 48 * 1024
    with pytest.raises(LabError, match=r"shared is 1,048,576\. Give 0 to 232,448\."):
        lab.occupancy("strip")


def test_numbers_of_one_s_own_come_before_the_kernel_s() -> None:
    widget = lab.occupancy("tiled", registers=64, shared=0, gpu="h200")
    assert isinstance(widget, Occupancy)
    assert (widget.threads, widget.registers, widget.shared) == (1024, 64, 0)


def test_the_readers_own_kernel_can_be_given() -> None:
    mine = lab.mine(lab.source("tiled").replace("TILE = 32;", "TILE = 8;"))
    widget = lab.occupancy(mine)
    assert isinstance(widget, Occupancy)
    assert (widget.kernel, widget.threads, widget.shared) == ("mine", 64, 512)


def test_a_kernel_is_not_offered_where_it_cannot_be_built() -> None:
    text = lab.source("tiled").replace("// block:", "// needs: sm_80\n// block:")
    widget = lab.occupancy(lab.mine(text), gpu="t4")
    assert isinstance(widget, Occupancy)
    assert "7.5" not in widget.kernels[0]["registers"]
    assert (widget.kernel, widget.threads) == ("", 256)


def test_without_a_compiler_kernels_get_a_sentence_and_numbers_still_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: object) -> None:
        raise MissingToolError("The CUDA compiler NVRTC is not installed.")

    monkeypatch.setattr("sgemm_lab.lab.occupancy_calculator.compile_kernel", missing)
    assert repr(lab.occupancy("tiled")) == "The CUDA compiler NVRTC is not installed."
    assert isinstance(lab.occupancy(threads=64), Occupancy)
