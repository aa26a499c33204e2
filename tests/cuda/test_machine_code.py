"""What the compiler made of a kernel, as text."""

import shutil

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda import machine_code
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import MissingToolError


@pytest.mark.parametrize(("name", "wide"), [("float4", 2), ("sliding_window", 0)])
def test_a_float4_is_one_wide_instruction(name: str, wide: int) -> None:
    compiled = compile_kernel(load_kernel(name))
    assert compiled.ptx.count("ld.global.v4.f32") == wide
    assert machine_code.disassemble(compiled.cubin).count("LDG.E.128") == wide


def test_a_missing_disassembler_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code.disassemble.cache_clear()
    monkeypatch.setattr(machine_code.sysconfig, "get_paths", lambda: {"purelib": "/nowhere"})
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingToolError, match="pip install nvidia-cuda-nvdisasm"):
        machine_code.disassemble(compile_kernel(load_kernel("naive")).cubin)
