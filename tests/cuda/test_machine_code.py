"""What the compiler made of a kernel, as text."""

import shutil

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import machine_code
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import MissingToolError


def test_a_float4_is_one_wide_instruction_in_ptx_and_in_machine_code() -> None:
    compiled = compile_kernel(load_kernel("float4"))
    assert machine_code.ptx_instructions(compiled.ptx)["ld.global.v4.f32"] == 2
    assert machine_code.machine_instructions(compiled)["LDG.E.128"] == 2
    scalar = compile_kernel(load_kernel("sliding_window"))
    assert machine_code.machine_instructions(scalar)["LDG.E.128"] == 0
    assert machine_code.machine_instructions(scalar)["LDG.E"] == 4


def test_a_predicate_does_not_hide_an_instruction() -> None:
    assert machine_code.ptx_instructions("\t@%p1 ld.global.f32 \t%f1, [%rd1];\n") == {
        "ld.global.f32": 1
    }


def test_a_missing_disassembler_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code.disassemble.cache_clear()
    monkeypatch.setattr(machine_code.sysconfig, "get_paths", lambda: {"purelib": "/nowhere"})
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingToolError, match="pip install nvidia-cuda-nvdisasm"):
        machine_code.machine_instructions(compile_kernel(load_kernel("naive")))
