"""What is made of launches: the steps that pages show, and verdicts on kernels at some sizes."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from golden_book import WRONG, at
from golden_launch import fingerprint_of

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import QUICK_SIZES
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.counting.step_trace import trace_steps
from sgemm_lab.cuda.shipped_ptx import kernel_ptx
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import Kernel, Size, parse_kernel

BARRIER = "        __syncthreads();  // no one overwrites a tile before all have read it\n"
RIGHT = ("naive_rows", "tiled:TILE=16", "float4", "register_cache", "async_copy")


@dataclass(frozen=True)
class StepTraceCase:
    """The steps of one launch; golden is the sha256 of each part of them (8 letters), or why not.

    A number and the same number as a float count as one.
    """

    kernel: Kernel
    size: Size

    @property
    def name(self) -> str:
        return f"{self.kernel.name} {at(self.size)}"

    def plain(self) -> dict[str, Any]:
        kernel = {"kernel": self.kernel.name, "source": self.kernel.source}
        return {**kernel, "ptx": kernel_ptx(self.kernel), "size": self.size}

    def fingerprint(self) -> str:
        return fingerprint_of(self.plain())

    def answer(self) -> dict[str, Any]:
        try:
            return dict(trace_steps(self.kernel, self.size))
        except LabError as error:
            return {"raised": type(error).__name__, "message": str(error)}

    def record(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "raised" in answer:
            return answer
        return {key: _sha(json.loads(json.dumps(part))) for key, part in sorted(answer.items())}


@dataclass(frozen=True)
class VerdictCase:
    """Verdicts on a kernel; golden has them in full, an error with four digits."""

    label: str
    kernel: Kernel
    sizes: tuple[Size, ...]

    @property
    def name(self) -> str:
        return self.label or self.kernel.name

    def plain(self) -> dict[str, Any]:
        kernel = {"kernel": self.kernel.name, "source": self.kernel.source}
        return {**kernel, "ptx": kernel_ptx(self.kernel), "sizes": self.sizes}

    def fingerprint(self) -> str:
        return fingerprint_of(self.plain())

    def answer(self) -> list[dict[str, Any]]:
        return [asdict(verdict) for verdict in check_simulated(self.kernel, self.sizes)]

    def record(self, answer: list[dict[str, Any]]) -> dict[str, Any]:
        # JSON of a page has null for what is infinite.
        errors = [one["error"] for one in answer]
        rounded = [f"{error:.4g}" if error is not None and isfinite(error) else "infinite"
                   for error in errors]  # fmt: skip
        pairs = zip(answer, rounded, strict=True)
        return {"verdicts": [{**one, "error": error} for one, error in pairs]}


def of_step_traces() -> Iterator[StepTraceCase]:
    """Toys of chapters; wrong kernels; edges; warps that wait for some others only."""
    wrong = {path.stem: path for path in WRONG}
    for name, constants, size in (
        ("missing_second_barrier", {"TILE": 2}, (4, 4, 4)),
        ("misaligned_vector", {"TILE": 4, "BK": 4}, (4, 4, 6)),
        ("outside_load", {"TILE": 2}, (3, 4, 4)),
        ("outside_store", {}, (3, 3, 3)),
        ("dropped_tail", {"TILE": 2}, (4, 4, 3)),
    ):
        kernel = parse_kernel(name, wrong[name].read_text(encoding="utf-8"))
        yield StepTraceCase(kernel.with_constants(**constants), size)
    tiled = load_kernel("tiled:TILE=2")
    turned = tiled.source.replace("As[ty][k] * Bs[k][tx]", "Bs[k][tx] * As[ty][k]")
    yield StepTraceCase(parse_kernel("b_first", turned), (4, 4, 4))
    for name, size in (
        ("tiled:TILE=2", (4, 4, 4)), ("sliding_window:TILE=2,BK=2", (4, 4, 8)),
        ("float4:TILE=4,BK=4", (4, 4, 8)), ("register_cache:BM=4,BN=4,BK=4,TM=4,TN=4", (8, 8, 8)),
        ("double_buffer:BM=64,BN=64,BK=4", (4, 4, 12)), ("strip:TILE=2", (4, 4, 8)),
        ("naive", (3, 5, 1)), ("naive", (4, 40, 8)),
        ("tiled:TILE=2", (3, 5, 3)), ("double_buffer", (8, 8, 8)), ("producers", (8, 8, 8)),
        ("small_tile:TM=4,WM=16,STAGES=2", (4, 4, 20)),
    ):  # fmt: skip
        yield StepTraceCase(load_kernel(name), size)
    producers = load_kernel("producers:BM=64,BN=64,TM=4,TN=4,WM=16,WN=32,STAGES=2")
    yield StepTraceCase(producers, (6, 12, 9))
    for name, left_out in (
        ("stuck", "mbarrierWait(&emptied[now], 1 - phase);"),
        ("early", "mbarrierWait(&filled[0], 0);"),
    ):
        assert left_out in producers.source
        yield StepTraceCase(parse_kernel(name, producers.source.replace(left_out, "")), (4, 4, 20))


def of_verdicts() -> Iterator[VerdictCase]:
    """Right and wrong kernels, and what a simulation cannot or does not come to the end of."""
    for path in WRONG:
        kernel = parse_kernel(path.stem, path.read_text(encoding="utf-8"))
        yield VerdictCase("", kernel, ((33, 31, 17), *QUICK_SIZES[-1:]))
    for name in RIGHT:
        yield VerdictCase("", load_kernel(name), ((3, 5, 7), (33, 31, 17)))
    yield VerdictCase("", load_kernel("split_k:BLOCKS=1"), ((33, 31, 17),))
    tiled, naive = load_kernel("tiled").source, load_kernel("naive").source
    some = BARRIER.replace("__sync", "if (threadIdx.y < 8) __sync")
    for label, source, sizes in (
        ("tiled without its second barrier", tiled.replace(BARRIER, ""), QUICK_SIZES),
        ("a barrier that some warps miss", tiled.replace(BARRIER, some), ((33, 31, 33),)),
        ("a loop without an end", naive.replace("++k", "k += 0"), ((2, 2, 2), (2000, 2000, 2000))),
        ("two blocks that write each element", _twice(naive), ((33, 31, 17),)),
        ("a grid that is too large", naive.replace("ceil(N / BN)", "10000000 * N"), ((2, 2, 2),)),
    ):
        yield VerdictCase(label, parse_kernel("mine", source), tuple(sizes))


def _twice(naive: str) -> str:
    """Let two blocks add half of the products of each element, and both store what they have."""
    source = naive.replace("ceil(N / BN)", "2 * ceil(N / BN)")
    source = source.replace("blockIdx.x * BN", "blockIdx.x / 2 * BN")
    return source.replace("int k = 0; k < K; ++k", "int k = blockIdx.x % 2; k < K; k += 2")


def _sha(part: Any) -> str:
    return hashlib.sha256(json.dumps(_whole(part), sort_keys=True).encode()).hexdigest()[:8]


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
