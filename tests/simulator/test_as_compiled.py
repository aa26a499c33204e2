"""The load widths found in the PTX against the machine code, as ``nvdisasm`` prints it."""

import re
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from simulator_kernels import GEMMS, compile_for, ptx_of

from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.simulator.machine import flow_of
from sgemm_lab.simulator.memory import lay_out
from sgemm_lab.simulator.merging import merge_shared_loads
from sgemm_lab.simulator.ptx import TYPE_BYTES, parse
from sgemm_lab.simulator.unroll import unroll_short_loops

HEAD = """
extern "C" __global__ void k(const float* A, float* C, int n) {
    int t = threadIdx.x;
"""
FILL = "__shared__ float s[256]; s[t] = A[t]; __syncthreads(); int i = 4 * (t & 31);"
ROWS = "for (int r = 0; r < 8; ++r) s[r][t & 31] = A[t + 32 * r]; __syncthreads(); float x = 0;"
UNROLL = "\n#pragma unroll\n"

SNIPPETS = {
    "four words": FILL + "C[t] = s[i] + s[i + 1] * s[i + 2] + s[i + 3];",
    "three low words": FILL + "C[t] = s[i] + s[i + 1] * s[i + 2];",
    "three high words": FILL + "C[t] = s[i + 3] + s[i + 1] * s[i + 2];",
    "three with a hole": FILL + "C[t] = s[i] + s[i + 1] * s[i + 3];",
    "two apart": FILL + "C[t] = s[i] + s[i + 2];",
    "two in the middle": FILL + "C[t] = s[i + 1] * s[i + 2];",
    "aligned to 8 only": FILL + "int j = 2 * (t & 31); C[t] = s[j] + s[j + 1] * s[j + 2];",
    "not aligned": FILL + "C[t] = s[t] + s[t + 1] * s[t + 2] + s[t + 3];",
    "store between": FILL + "float a = s[i]; s[t + 128] = a; C[t] = a + s[i + 1];",
    "barrier between": FILL + "float a = s[i]; __syncthreads(); C[t] = a + s[i + 1];",
    "global store between": FILL + "C[t] = s[i]; C[t + 64] = s[i + 1];",
    "other array stored": FILL
    + "__shared__ float q[256]; float a = s[i]; q[t] = a; float b = s[i + 1];"
    + "__syncthreads(); C[t] = a + b + q[t ^ 1];",
    "wide as written": "__shared__ __align__(16) float s[256]; s[t] = A[t]; __syncthreads();"
    "C[t] = reinterpret_cast<float4*>(s)[t & 31].y;",
    "two wide as written": FILL
    + "float2 a = *(float2*)&s[i], b = *(float2*)&s[i + 2]; C[t] = a.x + b.x * a.y + b.y;",
    "array at an odd place": "__shared__ float p[3]; __shared__ float s[253]; s[t] = A[t];"
    "p[t % 3] = A[t + 5]; __syncthreads(); int i = 4 * (t & 31);"
    "C[t] = s[i] + s[i + 1] * s[i + 2] + s[i + 3] + p[(t + 1) % 3];",
    "constant addresses": "__shared__ float p[2]; __shared__ float s[2]; s[t & 1] = A[t];"
    "p[t & 1] = A[t + 5]; __syncthreads(); C[t] = s[0] + s[1] + p[0] * p[1];",
    "padded by 1": "__shared__ float s[8][33];" + ROWS + UNROLL + "for (int r = 0; r < 8; ++r)"
    "for (int j = 0; j < 4; ++j) x += s[r][(t & 7) * 4 + j]; C[t] = x;",
    "padded by 4": "__shared__ float s[8][36];" + ROWS + UNROLL + "for (int r = 0; r < 8; ++r)"
    "for (int j = 0; j < 4; ++j) x += s[r][(t & 7) * 4 + j]; C[t] = x;",
    "six of a row": "__shared__ float s[8][128];" + ROWS + UNROLL + "for (int r = 0; r < 8; ++r)"
    "for (int j = 0; j < 6; ++j) x += s[r][t % 16 * 6 + j]; C[t] = x;",
    "loop that stays a loop": "__shared__ float s[8][32];" + ROWS + "\n#pragma unroll 1\n"
    "for (int j = 0; j < 32; j += 2) x += s[t & 7][j] * s[t & 7][j + 1]; C[t] = x;",
    "dynamic": "extern __shared__ float s[]; s[t] = A[t]; __syncthreads(); int i = 4 * (t & 31);"
    "C[t] = s[i] + s[i + 1] * s[i + 2] + s[i + 3];",
    "run-time multiple": FILL + "int j = 4 * n + 4 * t;"
    "C[t] = s[j] + s[j + 1] * s[j + 2] + s[j + 3];",
}


def nvdisasm() -> Path:
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(packages.glob("nvidia/*/bin/nvdisasm*"))
    if not found:
        pytest.skip("nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)")
    return found[0]


def machine_code(source: str, entry: str, folder: Path) -> str:
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(compile_for(source, "sm_90"))
    listing = subprocess.run(
        [nvdisasm(), "-c", cubin], capture_output=True, text=True, check=True
    ).stdout
    return listing.partition(f"\n.text.{entry}:")[2].partition("\n.text.")[0]


def widths(code: str, opcode: str) -> Counter[int]:
    """Bytes per lane of each machine instruction with an opcode such as LDS."""
    found: Counter[int] = Counter()
    # ptxas puts loads into no register (RZ) beside asynchronous copies; they never run.
    for modifiers in re.findall(rf"\b{opcode}((?:\.\w+)*) (?!RZ)", code):
        wide = re.search(r"\.(64|128)\b", modifiers)
        found[int(wide[1]) // 8 if wide else 4] += 1
    return found


def predicted(source: str, entry: str) -> Counter[int]:
    kernel = unroll_short_loops(parse(ptx_of(source))[entry])
    merged = merge_shared_loads(flow_of(kernel), lay_out(kernel.shared, 0))
    return Counter(load.width for loads in merged.values() for load in loads)


def as_written(source: str, entry: str, *opcodes: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for instruction in parse(ptx_of(source))[entry].instructions:
        if instruction.opcode.startswith(opcodes):
            vector = [int(part[1:]) for part in instruction.parts if part in ("v2", "v4")]
            found[TYPE_BYTES[instruction.parts[-1]] * (vector[0] if vector else 1)] += 1
    return found


@pytest.mark.parametrize("name", SNIPPETS)
def test_shared_loads_merge_as_in_machine_code(name: str, tmp_path: Path) -> None:
    source = HEAD + SNIPPETS[name] + "\n}"
    assert predicted(source, "k") == widths(machine_code(source, "k", tmp_path), "LDS")


@pytest.mark.parametrize("name", ["naive", "tiled", "thread_tile", "async"])
def test_gemm_kernels_agree(name: str, tmp_path: Path) -> None:
    source = GEMMS[name][0]
    code = machine_code(source, name, tmp_path)
    assert predicted(source, name) == widths(code, "LDS")


def test_stores_and_global_accesses_stay_as_written(tmp_path: Path) -> None:
    source = GEMMS["thread_tile"][0]
    code = machine_code(source, "thread_tile", tmp_path)
    for machine, opcode in (("STS", "st.shared"), ("LDG", "ld.global"), ("STG", "st.global")):
        assert widths(code, machine) == as_written(source, "thread_tile", opcode)


def unrolled(source: str) -> str:
    """With the loop along a tile's k unrolled in the source, so that PTX and ptxas agree."""
    return re.sub(r"\n( *for \(int k = 0; k < \w+; \+\+k\))", r"\n#pragma unroll\n\1", source)


@pytest.mark.parametrize("kernel", load_kernels(), ids=lambda kernel: kernel.name)
def test_kernels_of_the_book_use_the_same_widths(kernel: Kernel, tmp_path: Path) -> None:
    # How many there are differs where ptxas repeats the body of a loop that stays a loop.
    code = machine_code(kernel.source, "sgemm", tmp_path)
    assert set(predicted(kernel.source, "sgemm")) == set(widths(code, "LDS"))


@pytest.mark.parametrize("kernel", load_kernels(), ids=lambda kernel: kernel.name)
def test_kernels_of_the_book_agree(kernel: Kernel, tmp_path: Path) -> None:
    source = unrolled(kernel.source)
    code = machine_code(source, "sgemm", tmp_path)
    assert predicted(source, "sgemm") == widths(code, "LDS")
