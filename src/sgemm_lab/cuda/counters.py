"""The GPU's own counters for a kernel, taken with NVIDIA Nsight Compute (``ncu``).

Cloud services often lock the counters; then there are none to take, and the message says so.
"""

import csv
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sgemm_lab.catalogue import is_builtin
from sgemm_lab.errors import LabError
from sgemm_lab.files import PACKAGE
from sgemm_lab.kernel import ENTRY, Kernel, Size

STALL_REASONS = (
    "barrier", "long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle",
    "math_pipe_throttle", "dispatch_stall", "wait", "not_selected", "selected", "no_instruction",
    "branch_resolving", "drain", "imc_miss", "membar", "sleeping",
)  # fmt: skip
"""Why a warp did not start its next instruction: warps waiting so, per instruction issued."""

METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "ffma_thread_instructions": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "l1_lookup_wavefronts": "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1_data_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_to_l1_bytes": "l1tex__m_xbar2l1tex_read_bytes.sum",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "registers": "launch__registers_per_thread",
    "occupancy_limit_percent": "sm__maximum_warps_per_active_cycle_pct",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue_active_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm_active_cycles": "sm__cycles_active.sum",
    "sm_elapsed_cycles": "sm__cycles_elapsed.max",
    "l1_data_shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "eligible_warps": "smsp__warps_eligible.avg.per_cycle_active",
    **{
        f"stalled_{reason}": f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
        for reason in STALL_REASONS
    },
}
"""Our name of each counter, and Nsight Compute's."""

_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")


def take_counters(kernels: Sequence[Kernel], size: Size) -> list[dict[str, float]]:
    """Launch each kernel once at a size (M, N, K) and return its counters, in order."""
    with TemporaryDirectory() as folder:
        named = [_argument(kernel, Path(folder)) for kernel in kernels]
        return _profiled(ENTRY, size, named, len(kernels))


def cublas_counters(size: Size) -> dict[str, float]:
    """Return the counters of cuBLAS's product in FP32 at a size (M, N, K): of its one kernel."""
    return _profiled("regex:gemm", size, ["--cublas"], 1)[0]


def _profiled(name: str, size: Size, launched: list[str], count: int) -> list[dict[str, float]]:
    ncu = shutil.which("ncu")
    if ncu is None:
        raise LabError(
            "Nsight Compute (ncu) is not installed, and only it can read the GPU's counters. "
            "It comes with the CUDA toolkit."
        )
    metrics = list(METRICS.values())
    while True:
        command = [
            ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--kernel-name", name, "--metrics", ",".join(metrics),
            sys.executable, "-m", "sgemm_lab", "launch", "--size", ",".join(map(str, size)),
            *launched,
        ]  # fmt: skip
        answer = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent)
        known = [name for name in metrics if name not in _unknown_metrics(answer.stdout)]
        if known == metrics:
            break
        metrics = known  # older GPUs and tools lack some; the others can still be taken
    rows = parse_counters(answer.stdout)
    if answer.returncode or len(rows) != count:
        said = [line for line in answer.stdout.splitlines() if line.startswith("==ERROR==")]
        raise LabError(
            "Nsight Compute did not return counters for every kernel. "
            + (" ".join(said) or answer.stderr.strip() or "It gave no reason.")
        )
    return rows


def _unknown_metrics(said: str) -> set[str]:
    """Return the metrics that ncu says it cannot find."""
    return {
        name.strip(" .'\"")
        for line in re.findall(r"Failed to find metric (.+)", said)
        for name in line.split(",")
    }


def _argument(kernel: Kernel, folder: Path) -> str:
    """Return what names a kernel on the command line: a reader's own is written to a file first."""
    if is_builtin(kernel):
        return kernel.name
    path = folder / f"{kernel.name.removesuffix('.cu')}.cu"
    path.write_text(kernel.source, encoding="utf-8")
    return str(path)


def parse_counters(text: str) -> list[dict[str, float]]:
    """Read ncu's raw page: a line of names, a line of units, a line per launch.

    A counter that the GPU does not have ("n/a") is left out.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        return []
    names, _, *launches = csv.reader(io.StringIO("\n".join(lines)))
    columns = {name: names.index(metric) for name, metric in METRICS.items() if metric in names}
    rows = []
    for launch in launches:
        values = {name: launch[column].replace(",", "") for name, column in columns.items()}
        rows.append({name: float(text) for name, text in values.items() if _NUMBER.fullmatch(text)})
    return rows
