"""Kernels as other people write them, with a launch of each and what it should leave behind."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.external_cuda import ExternalKernel, ExternalRun, Pasted
from sgemm_lab.kernel import Size

FLOATS = ("float", "double", "half", "bfloat16")
FOLDER = Path(__file__).parents[1] / "foreign_kernels"


@dataclass(frozen=True)
class Case:
    """One launch of one kernel."""

    file: str
    entry: str
    args: str | None
    grid: str
    block: str
    expect: tuple[str, ...] = ()
    size: Size = (64, 64, 64)
    shared: str = "0"

    @property
    def name(self) -> str:
        """What a test calls it."""
        m, n, k = self.size
        at = "" if self.args is not None and "M" not in self.args else f" at {m}x{n}x{k}"
        return f"{self.file} {self.entry} {self.grid} {self.block}{at}"

    def kernel(self, old: str = "", new: str = "") -> ExternalKernel:
        """The kernel as the command takes it; with ``old`` replaced by ``new`` in its file."""
        path = FOLDER / f"{self.file}.cu"
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{self.file} has no '{old}'"
        pasted = Pasted(path.name, text.replace(old, new) if old else text, FOLDER, self.entry)
        return ExternalKernel(
            pasted,
            tuple(self.grid.split()) if self.grid else (),
            tuple(self.block.split()) if self.block else (),
            self.shared,
            self.args,
        )


def _transposes() -> list[Case]:
    same, turned = ("odata = idata",), ("odata = transpose(reshape(idata, 96, 64))",)
    arrays = "odata:out:64*96 idata:in:64*96"
    cases = [
        Case("transpose", name, arrays, "2 3", "32 8", same if "copy" in name else turned)
        for name in ("copy", "copySharedMem", "transposeNaive", "transposeCoalesced",
                     "transposeNoBankConflicts")
    ]  # fmt: skip
    for type_, tile in (("float", 16), ("float", 32), ("double", 16), ("int", 8), ("short", 16)):
        for rows, cols in ((64, 64), (50, 70)):
            cases.append(
                Case(
                    "transpose",
                    f"transposeAny<{type_}, {tile}>",
                    f"in:in:{rows * cols} out:out:{rows * cols} rows={rows} cols={cols}",
                    f"ceil(cols/{tile}) ceil(rows/{tile})",
                    f"{tile} {tile}",
                    (f"out = transpose(reshape(in, {rows}, {cols}))",),
                )
            )
    return cases


def _reductions() -> list[Case]:
    by_block = ("y = sum(reshape(x, 8, 128), axis=1)",)
    cases = [
        Case("reduce", name, "x:in:1024 y:out:8", "8", "128", by_block, shared="512")
        for name in ("reduce0", "reduce1", "reduce2")
    ]
    cases.append(
        Case("reduce", "reduce3", "x:in:1024 y:out:4", "4", "128",
             ("y = sum(reshape(x, 4, 256), axis=1)",), shared="512")
    )  # fmt: skip
    for threads in (64, 128, 256, 512):
        cases.append(
            Case("reduce", f"reduce6<{threads}>", "x:in:n y:out:2 n=3000", "2", str(threads),
                 shared=str(4 * threads))
        )  # fmt: skip
    for name in ("deviceReduceKernel", "deviceReduceWarpAtomicKernel",
                 "deviceReduceBlockAtomicKernel"):  # fmt: skip
        one = name == "deviceReduceKernel"
        for n, blocks in ((1000, 1), (1000, 3)):
            kept = f"y:{'out' if one else 'zero'}:{blocks if one else 1}"
            expect = ("y = sum(x)",) if blocks == 1 or not one else ()
            cases.append(Case("reduce", name, f"x:in:n {kept} n={n}", str(blocks), "128", expect))
    cases += [
        Case("reduce", "deviceReduceVector4", "x:in:n4 y:zero:1 n4=250", "2", "64",
             ("y = sum(x)",)),
        Case("reduce", "maxAndWhere", "x:in:n best:out:1 where:out:1 n=700", "1", "256",
             ("best = max(x)", "where = argmax(x)")),
        Case("reduce", "dotProduct", "a:in:N b:in:N c:out:1 N=700", "1", "256", ("c = dot(a, b)",)),
        Case("reduce", "reduceSinglePass", "x:in:n part:out:4 y:out:1 n=2000", "4", "128",
             ("y = sum(x)",)),
    ]  # fmt: skip
    return [_renamed(case) for case in cases]


def _renamed(case: Case) -> Case:
    """``N`` is a size of products, so arrays of a size of their own call it n."""
    if case.args is None or "N=" not in case.args:
        return case
    args = case.args.replace(":N", ":n").replace("N=", "n=")
    return Case(case.file, case.entry, args, case.grid, case.block, case.expect)


def _scans() -> list[Case]:
    return [
        Case("scan", "scan_hillis_steele", "y:out:n x:in:n n=128", "1", "128",
             ("y = cumsum(x)",), shared="1024"),
        Case("scan", "prescan", "y:out:n x:in:n n=256", "1", "128", ("y = cumsum(x) - x",),
             shared="1024"),
        Case("scan", "scan_block_shuffle", "x:in:n y:out:n n=256", "1", "256",
             ("y = cumsum(x)",)),
        Case("scan", "scan_block_shuffle", "x:in:n y:out:n n=500", "4", "128"),
        Case("scan", "add_block_sums", "x:inout:n s:in:4 n=500", "4", "128"),
        Case("scan", "compact_positive", "x:in:n y:zero:n c:zero:1 n=100", "1", "128",
             ("c = sum(x > 0)",)),
        Case("scan", "bitonic_sort", "x:inout:128", "1", "128", ("x = sort(x)",), shared="512"),
        Case("scan", "bitonic_sort", "x:inout:256", "1", "256", ("x = sort(x)",), shared="1024"),
    ]  # fmt: skip


def _histograms() -> list[Case]:
    counted = ("b = histogram(x, 64)",)
    return [
        Case("histogram", "histogram_global", "x:in:n b:zero:64 n=1000", "8", "128", counted),
        Case("histogram", "histogram_shared", "x:in:n b:zero:64 n=1000", "4", "128", counted),
        Case("histogram", "histogram_shared", "x:in:n b:zero:64 n=1000", "2", "32", counted),
        Case("histogram", "histogram_bytes", "x:in:n b:zero:256 n=2000", "3", "256",
             ("b = histogram(x, 256)",)),
        Case("histogram", "histogram_aggregated", "x:in:n b:zero:16 n=999", "8", "128"),
        Case("histogram", "minmax", "x:in:n lo:zero:1 hi:zero:1 n=300", "3", "128",
             ("lo = min(x)", "hi = max(x)")),
    ]  # fmt: skip


def _stencils() -> list[Case]:
    plane = "u:in:ny*nx v:out:ny*nx nx=64 ny=48"
    return [
        Case("stencil", "stencil_1d", "x:in:518 y:out:512", "4", "128"),
        Case("stencil", "stencil_coefficients", "x:in:n y:zero:n n=500", "4", "128"),
        Case("stencil", "jacobi", plane, "ceil(nx/16) ceil(ny/16)", "16 16"),
        Case("stencil", "jacobi", "u:in:ny*nx v:out:ny*nx nx=61 ny=50", "2 7", "32 8"),
        Case("stencil", "jacobi_shared", plane, "4 3", "16 16"),
        Case("stencil", "heat_3d", "x:in:nx*ny*nz y:zero:nx*ny*nz nx=32 ny=20 nz=6 0.1",
             "1 3", "32 8"),
        Case("stencil", "convolution_1d", "x:in:n y:out:n n=600", "5", "128",
             ("y = convolve(x, c_taps)",)),
        Case("stencil", "convolution_2d", "x:in:h*w y:out:h*w h=40 w=50", "4 3", "20 20"),
        Case("stencil", "row_sums_by_constant", "x:in:20*30 y:out:30 30 c_width=20", "1", "32",
             ("y = sum(reshape(x, 30, 20), axis=1)",)),
        Case("stencil", "sobel", "x:in:h*w y:zero:h*w w=50 h=40", "2 5", "32 8"),
        Case("stencil", "game_of_life", "x:in:n*n y:out:n*n n=40", "5 5", "8 8"),
    ]  # fmt: skip


def _rows() -> list[Case]:
    matrix = "x:in:rows*cols y:out:rows*cols"
    softmax = (
        "y = exp(reshape(x, 24, 100)) / reshape(sum(exp(reshape(x, 24, 100)), axis=1), 24, 1)",
    )
    return [
        Case("rows", "softmax_naive", f"{matrix} rows=24 cols=100", "1", "32", softmax),
        *(
            Case("rows", f"softmax_block<{threads}>", "x:in:2400 y:out:2400 n=100", "24",
                 str(threads), softmax)
            for threads in (32, 64, 128)
        ),
        Case("rows", "softmax_online", "x:in:2400 y:out:2400 n=100", "24", "32", softmax),
        Case("rows", "layernorm_forward",
             "y:out:n*c x:in:n*c w:in:c b:in:c n=24 c=64", "1", "32"),
        Case("rows", "layernorm_warp", "x:in:24*k y:out:24*k 1.5 0.5 k=64", "24", "32"),
        Case("rows", "rmsnorm", "x:in:24*k w:in:k y:out:24*k k=200", "24", "64"),
        Case("rows", "matvec", "a:in:r*c x:in:c y:out:r r=40 c=70", "10", "128",
             ("y = dot(reshape(a, 40, 70), x)",)),
        Case("rows", "column_sums", "x:in:r*c y:out:c r=40 c=70", "1", "128",
             ("y = sum(reshape(x, 40, 70), axis=0)",)),
        Case("rows", "rope", "x:inout:16*4*32 h=4 d=32", "16 4", "16"),
    ]  # fmt: skip


def _elementwise() -> list[Case]:
    def case(entry: str, args: str, *expect: str, grid: str = "4", block: str = "128") -> Case:
        return Case("elementwise", entry, args, grid, block, expect)

    three = "a:in:n b:in:n c:out:n n=500"
    return [
        case("vectorAdd", three, "c = a + b"),
        case("elementwise_add_f32x4", "a:in:n b:in:n c:out:n n=512", "c = a + b", grid="1"),
        case("saxpy", "n=1000 2.0 x:in:n y:inout:n", "y = 2 * x + y"),
        case("daxpy", "n=500 2.5 x:in:n y:inout:n", "y = 2.5 * x + y"),
        case("relu", "x:in:n y:out:n n=500", "y = maximum(x, 0)"),
        case("gelu", "x:in:n y:out:n n=500",
             "y = 0.5*x*(1 + tanh(0.7978845608*(x + 0.044715*x**3)))"),
        case("sigmoid_f16", "x:in:n y:out:n n=500", "y = 1 / (1 + exp(-x))"),
        case("add_f16", three, "c = a + b"),
        case("add_f16x2", "a:in:n b:in:n c:out:n n=500", "c = a + b", grid="2"),
        case("axpy_half2", "x:in:n y:inout:n 3 4 n=300", grid="3"),
        case("scale_half", "x:inout:n 0.5 n=500", "x = x / 2"),
        case("fma_bf16", "a:in:n b:in:n c:inout:n n=500", "c = a * b + c"),
        case("to_half", "x:in:n y:out:n n=500", "y = 0.37 * x"),
        case("quantize", "x:in:n q:out:n 20.0 n=500", "q = minimum(127, maximum(-128, 20 * x))"),
        case("complex_multiply", "a:in:n b:in:n c:out:n n=500"),
        case("rgb_to_gray", "x:in:h*w y:out:h*w h=20 w=50", grid="2 3", block="32 8"),
        *(case("offsetCopy", f"x:in:n y:zero:n n=512 {offset}") for offset in (0, 1, 7, 32)),
        *(case("strideCopy", f"x:in:{512 * by} y:zero:{512 * by} {by}") for by in (1, 2, 5, 32)),
        case("move", "p:inout:6*n:float 0.5 n=300"),
        case("move_apart", "x:inout:n v:in:n 0.5 n=300", "x = x + 0.5 * v"),
        case("reverse_static", "d:inout:n n=64", "d = flip(d)", grid="1", block="64"),
        Case("elementwise", "reverse_dynamic", "d:inout:n n=100", "1", "100", ("d = flip(d)",),
             shared="400"),
        case("gather", "x:in:256 i:in:n y:out:n n=500"),
        case("swiglu", "g:in:n u:in:n y:out:n n=500", "y = g / (1 + exp(-g)) * u"),
    ]  # fmt: skip


def _products() -> list[Case]:
    def case(
        entry: str, grid: str, block: str, size: Size = (64, 64, 64), args: str | None = None,
        *expect: str,
    ) -> Case:  # fmt: skip
        return Case("matmul", entry, args, grid, block, expect, size)

    tiles = "ceil(N/16) ceil(M/16)"
    return [
        *(case("sgemm_naive", "ceil(M/16) ceil(N/16)", "16 16", size)
          for size in ((64, 64, 64), (33, 50, 20))),
        *(case(f"sgemm_global_mem_coalesce<{b}>", f"ceil(M/{b}) ceil(N/{b})", str(b * b), size)
          for b in (16, 32) for size in ((64, 64, 64), (40, 50, 24))),
        *(case(f"sgemm_shared_mem_block<{b}>", f"ceil(M/{b}) ceil(N/{b})", str(b * b))
          for b in (8, 16, 32)),
        *(case(f"sgemm1DBlocktiling<{bm}, {bm}, {bk}, {tm}>", f"ceil(N/{bm}) ceil(M/{bm})",
               str(bm * bm // tm))
          for bm, bk, tm in ((64, 8, 8), (32, 8, 4))),
        *(case(f"sgemmVectorize<{bm}, {bn}, 8, {tm}, {tn}>", f"ceil(N/{bn}) ceil(M/{bm})",
               str(bm * bn // (tm * tn)), (128, 128, 32))
          for bm, bn, tm, tn in ((64, 64, 4, 8), (128, 128, 8, 8))),
        *(case("MatrixMulKernel", "ceil(N/16) ceil(N/16)", "16 16", (n, n, n)) for n in (64, 50)),
        *(case(f"MatrixMulCUDA<{b}>", f"ceil(N/{b}) ceil(M/{b})", f"{b} {b}", size)
          for b in (16, 32) for size in ((64, 64, 64), (32, 96, 64))),
        case("gemm_strided", tiles, "16 16", (40, 50, 30), "A K B N C N M N K"),
        case("gemm_batched", "3 3 4", "16 16", (1, 1, 1),
             "a:in:4*m*k b:in:4*k*n c:out:4*m*n m=40 n=48 k=24",
             "c = reshape(a, 4, 40, 24) @ reshape(b, 4, 24, 48)"),
        case("hgemm_naive_f16", tiles, "16 16", (40, 50, 30)),
        case("hgemm_float_sum", tiles, "16 16", (40, 50, 30)),
        case("bgemm", tiles, "16 16", (40, 50, 30)),
        *(case(f"mm_any<{t}>", tiles, "16 16", (40, 50, 30))
          for t in ("float", "double", "int", "unsigned", "long long")),
        case("gemm_int8", "3 3", "16 16", (1, 1, 1),
             "a:in:m*k b:in:n*k c:out:m*n m=40 n=48 k=8",
             "c = reshape(a, 40, 32) @ transpose(reshape(b, 48, 32))"),
        case("gemm_split_k", f"{tiles} 4", "16 16", (40, 50, 30), "A B C:zero M N K"),
        case("outer_product", "4 3", "16 16", (1, 1, 1), "u:in:m v:in:n c:out:m*n m=40 n=50",
             "c = reshape(u, 40, 1) * reshape(v, 1, 50)"),
    ]  # fmt: skip


def _tensor_products() -> list[Case]:
    def case(entry: str, grid: str, block: str, size: Size, args: str = "A B C M N K") -> Case:
        return Case("wmma", entry, args, grid, block, (), size)

    tiles = "ceil(N/16) ceil(M/16)"
    return [
        case("wmma_example", "ceil(M/64) ceil(N/64)", "128 4", (64, 64, 48),
             "A:col B:col C:col M N K 1 0"),
        case("wmma_example", "ceil(M/64) ceil(N/64)", "128 4", (128, 64, 32),
             "A:col B:col C:col M N K 2 -1"),
        case("hgemm_wmma_naive<float>", tiles, "32", (32, 48, 64)),
        case("hgemm_wmma_naive<half>", tiles, "32", (32, 48, 64)),
        case("wmma_shared", "ceil(N/64) ceil(M/64)", "128", (64, 128, 64)),
        case("wmma_tf32", tiles, "32", (32, 48, 40)),
        case("wmma_bf16", tiles, "32", (32, 48, 64), "A B:col C M N K"),
        case("wmma_int8", tiles, "32", (32, 48, 64)),
        case("wmma_shape<32, 8>", "ceil(N/8) ceil(M/32)", "32", (64, 48, 32)),
        case("wmma_shape<8, 32>", "ceil(N/32) ceil(M/8)", "32", (40, 64, 32)),
        case("hgemm_mma_m16n8k16", "ceil(N/8) ceil(M/16)", "32", (32, 48, 64)),
    ]  # fmt: skip


def _others() -> list[Case]:
    def case(entry: str, args: str, grid: str, block: str, *expect: str, shared: str = "0") -> Case:
        return Case("misc", entry, args, grid, block, expect, shared=shared)

    return [
        case("mandelbrot", "y:out:h*w w=60 h=40 50", "2 5", "32 8"),
        case("bodyForce", "p:in:n v:inout:n 0.01 n=128", "2", "64"),
        case("evaluate", "x:in:n y:out:n n=300", "3", "128"),
        case("fibonaccis", "y:out:64", "1", "64"),
        case("gcds", "a:in:n b:in:n c:out:n n=300", "3", "128"),
        case("invert", "w=50 h=40 x:inout:h*w", "2 5", "32 8", "x = 255 - x"),
        case("adjust", "x:in:n y:out:n 2 3 -5 5 n=300", "3", "128",
             "y = minimum(5, maximum(-5, 2 * x + 3))"),
        case("monte_carlo", "h:zero:1 20", "2", "128"),
        case("encrypt", "x:inout:n n=300", "3", "128"),
        case("sieve", "x:zero:n n=1000", "1", "32"),
        case("count_hits", "x:in:n n=500", "4", "128", "g_hits = sum(x > 3)"),
        case("bit_tricks", "x:in:n y:out:n n=300", "3", "128"),
        case("fft_radix2", "x:inout:128", "1", "64", shared="1024"),
        case("knn_distances", "p:in:n*d q:in:d y:out:n n=300 d=5", "3", "128"),
        case("levels", "x:in:n y:out:n n=300", "3", "128",
             "y = 20 * log(abs(x) + 1) / log(10) + sqrt(abs(x)) / 3"),
    ]  # fmt: skip


CASES = [
    *_transposes(), *_reductions(), *_scans(), *_histograms(), *_stencils(), *_rows(),
    *_elementwise(), *_products(), *_tensor_products(), *_others(),
]  # fmt: skip


def contents_of(done: ExternalRun, case: Case) -> dict[str, npt.NDArray[Any]]:
    """Normal numbers for the arrays of floats that a launch reads, the same at each call."""
    random = np.random.default_rng(CASES.index(case) + 1)
    words = [word.split(":")[0] for word in done.arguments.split()]
    contents = {}
    for name in dict.fromkeys([*words, *done.before]):
        held = done.before.get(name)
        if held is None or name in ("c_taps", "g_table") or done.types[name] not in FLOATS:
            continue
        if np.any(held) and not np.isnan(held).any():
            contents[name] = random.standard_normal(held.shape)
    return contents


def digest(array: npt.NDArray[Any]) -> str:
    """A few letters that tell arrays apart bit by bit; every NaN is the same."""
    plain = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array
    return hashlib.sha256(np.ascontiguousarray(plain.astype(array.dtype)).tobytes()).hexdigest()[
        :16
    ]
