"""Measure Strassen's product on this machine's GPU: exactness, times and errors."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import suits
from sgemm_lab.cuda.launch import LoadedKernel, current_device, device_target, require_gpu
from sgemm_lab.errors import LabError
from sgemm_lab.files import check_writable
from sgemm_lab.gemm.dispatch.product import dispatcher
from sgemm_lab.gemm.strassen.engine import GpuProduct, Leaf
from sgemm_lab.gemm.strassen.error import INPUTS, matrix, norm_error, sampled_rows
from sgemm_lab.gemm.strassen.plan import Plan, make_plan, schedule_choices
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.measuring.interleaved import (
    Budget,
    Product,
    Progress,
    cublas,
    is_graphed,
    time_interleaved,
    watch_card,
)
from sgemm_lab.measuring.recorder import new_run
from sgemm_lab.records.gpu_record import CUBLAS, five_digits
from sgemm_lab.records.strassen import (
    STRASSEN_RECORDS,
    Errors,
    Inside,
    MeasuredPlan,
    SizeTimes,
    StrassenRun,
    level_error_name,
)
from sgemm_lab.text import plural, size_text

SIZES: dict[Size, int] = {
    (2048, 2048, 2048): 1,
    (4096, 4096, 4096): 2,
    (8192, 8192, 8192): 3,
    (16384, 16384, 16384): 4,
    (32768, 32768, 32768): 4,
    (5000, 5000, 5000): 2,
    (8191, 8193, 8189): 2,
    (10000, 10000, 10000): 3,
    (16384, 4096, 16384): 2,
    (32768, 32768, 4096): 2,
}
"""Sizes, each with the maximum number of levels."""

ALL_SCHEDULES: dict[Size, int] = {(8192, 8192, 8192): 2, (16384, 16384, 16384): 3}
"""Sizes where all schedules of this many levels are measured, regardless of workspace."""

TENSOR_CORE_LEAF = "wgmma_3xfp16"
"""The kernel on tensor cores that is also measured as leaf, if the GPU supports it."""
TENSOR_CORE_SIZES: dict[Size, int] = {
    (8192, 8192, 8192): 2,
    (16384, 16384, 16384): 3,
    (32768, 32768, 32768): 3,
}
"""Sizes for that leaf, each with the maximum number of levels."""

BUDGET = Budget(seconds=0.3, min_samples=5, max_samples=15, warm_up_seconds=0.05)
"""Of each plan at a size."""

ERROR_SIZES = {1024: 3, 4096: 3, 16384: 4, 32768: 3}
"""Extents of square matrices for errors, each with the maximum number of levels."""

MOST_LEVELS = 4
"""Maximum number of levels in ``sgemm-lab errors``."""

EXACT_SIZES: tuple[Size, ...] = (
    (1, 1, 1), (3, 5, 7), (17, 33, 9), (64, 64, 64), (1, 1000, 33), (1000, 1, 33), (127, 129, 131),
    (129, 65, 1000), (255, 257, 254), (513, 3, 100), (1000, 1000, 1000), (1023, 1025, 1021),
    (2050, 2046, 2049),
)  # fmt: skip
EXACT_LEVELS = 3


def take_strassen_record(
    folder: Path,
    sizes: Sequence[Size] = tuple(SIZES),
    progress: Progress = lambda _: None,
    *,
    only_inside: bool = False,
) -> tuple[Path, StrassenRun]:
    """Check products, measure times and errors, write each item; return the file and the run.

    Ctrl-C ends the run; its items remain in the file. ``only_inside`` measures only with
    ``TENSOR_CORE_LEAF`` for all leaves.
    """
    check_writable(folder / STRASSEN_RECORDS.folder)
    device, run = current_device(), StrassenRun(**new_run().environment())
    path = STRASSEN_RECORDS.path(folder, device.name)

    def put(**fields: Any) -> None:
        nonlocal run
        run = replace(run, **fields)
        STRASSEN_RECORDS.add_run(folder, device, run)

    try:
        if not only_inside:
            progress("products of whole numbers at odd sizes")
            put(exact=exact_products())
            for item in _measured(sizes, None, progress):
                put(**_with(run, item))
        kernel = load_kernel(TENSOR_CORE_LEAF)
        if suits(kernel, device_target()):
            progress(f"products of whole numbers with {kernel.name} inside")
            exact_products(LoadedKernel(kernel))
            inside = Inside(kernel.name, kernel.fingerprint, kernel.arithmetic)
            large = [size for size in sizes if size in TENSOR_CORE_SIZES]
            for item in _measured(large, kernel, progress):
                inside = replace(inside, **_with(inside, item))
                put(inside=(inside,))
        else:
            progress(f"{kernel.name} is skipped: it needs {kernel.needs}.")
    except KeyboardInterrupt:
        progress("The run was stopped. Its measurements are in the file.")
        return path, run
    put(complete=True)
    return path, run


def _measured(
    sizes: Sequence[Size], kernel: Kernel | None, progress: Progress
) -> Iterator[SizeTimes | Errors]:
    """Yield times at the sizes, then errors; ``kernel`` is that of all leaves, or None."""
    where = f" with {kernel.name} inside" if kernel else ""
    leaf, plans = (LoadedKernel(kernel), tensor_core_plans) if kernel else (None, plans_at)
    for size in sizes:
        progress(f"times at {size_text(size)}{where}")
        yield measure(size, plans(size), kernel, progress)
    for n, most in ERROR_SIZES.items():
        for inputs in INPUTS:
            progress(f"errors at {n}, {INPUTS[inputs]}{where}")
            yield measure_errors(n, inputs, most, leaf)


def _with(record: StrassenRun | Inside, item: SizeTimes | Errors) -> dict[str, Any]:
    """Return the times or the errors of a record with one item more, by the name of the field."""
    if isinstance(item, SizeTimes):
        return {"times": (*record.times, item)}
    return {"errors": (*record.errors, item)}


def exact_products(leaf: Leaf | None = None) -> int:
    """Multiply whole numbers by all schedules at odd sizes; return the number of products.

    All sums and products are integers that float32 represents, and all factors are integers that
    TF32 represents, so C must be exact. Without a leaf the dispatcher multiplies in FP32.
    """
    cupy = require_gpu()
    random = cupy.random.RandomState(seed=5)
    done = 0
    for m, n, k in EXACT_SIZES:
        a, b = (random.randint(-2, 3, shape).astype("float32") for shape in ((m, k), (k, n)))
        exact = a.astype("float64") @ b.astype("float64")
        for levels in range(EXACT_LEVELS + 1):
            for schedules in schedule_choices(levels):
                c = cupy.full((m, n), cupy.nan, dtype="float32")
                GpuProduct(Plan((m, n, k), schedules), leaf)(a, b, c)
                if not bool((c == exact).all()):
                    raise LabError(
                        f"Strassen's product is wrong at {size_text((m, n, k))} with the levels "
                        f"{', '.join(schedules) or 'none'}: C of whole numbers is not exact."
                    )
                done += 1
    return done


def plans_at(size: Size) -> list[Plan]:
    """Return the plans to measure at one of ``SIZES``, without duplicates."""
    plans = [make_plan(size, levels) for levels in range(SIZES[size] + 1)]
    if size in ALL_SCHEDULES:
        plans += [Plan(size, schedules) for schedules in schedule_choices(ALL_SCHEDULES[size])]
    return list(dict.fromkeys(plans))


def tensor_core_plans(size: Size) -> list[Plan]:
    """Return the plans to measure at one of ``TENSOR_CORE_SIZES``.

    They are those within the default workspace, and the one with the largest workspace.
    """
    most = TENSOR_CORE_SIZES[size]
    plans = [make_plan(size, levels) for levels in range(most + 1)]
    return list(dict.fromkeys([*plans, Plan(size, (*["wide"] * (most - 2), "twice"))]))


def measure(
    size: Size,
    plans: Sequence[Plan],
    kernel: Kernel | None = None,
    progress: Progress = lambda _: None,
) -> SizeTimes:
    """Measure plans of a size, their parts and cuBLAS, interleaved.

    Without a kernel for the leaves the dispatcher multiplies them in FP32.
    """
    cupy = require_gpu()
    most = max(plan.workspace_bytes for plan in plans)
    # One shared workspace, without NaN for the runs of leaf products alone.
    work = cupy.zeros(most // FLOAT_BYTES, dtype="float32")
    leaf = LoadedKernel(kernel) if kernel else None
    products: dict[str, Product] = {CUBLAS: cublas()}
    for plan in plans:
        engine, name = GpuProduct(plan, leaf, work), _name(plan)
        products[name] = engine
        if plan.levels:
            products[f"{name} products"] = engine.only_products
            products[f"{name} additions"] = engine.only_additions
    graph = is_graphed(size)
    with watch_card() as card:
        found = {
            one.kernel: tuple(map(five_digits, one.seconds))
            for one in time_interleaved(products, size, BUDGET, progress, graphs=graph)
        }
    product = dispatcher(cupy.cuda.Device().id)
    return SizeTimes(
        *size,
        graph=graph,
        cublas=found[CUBLAS],
        ways=tuple(
            MeasuredPlan(
                plan.schedules,
                plan.levels,
                plan.leaf,
                (kernel or product.kernel_for(plan.leaf)).name,
                plan.workspace_bytes,
                plan.moved_bytes,
                found[_name(plan)],
                found.get(f"{_name(plan)} products"),
                found.get(f"{_name(plan)} additions"),
            )
            for plan in plans
        ),
        clock_mhz=card.spreads()["clock_mhz"],
        power_w=card.spreads()["power_w"],
    )


def measure_errors(n: int, inputs: str, most: int, leaf: Leaf | None = None) -> Errors:
    """Return the errors of cuBLAS and of 0 to ``most`` levels for n×n matrices.

    ``leaf`` is the product for the leaves; None: the dispatcher in FP32.
    """
    cupy = require_gpu()
    a, b = (matrix(cupy, inputs, (n, n), seed) for seed in (1, 2))
    c, rows = cupy.empty((n, n), dtype="float32"), sampled_rows(n)

    def error(product: Product) -> float:
        c.fill(cupy.nan)
        product(a, b, c)
        return float(f"{norm_error(cupy, a, b, c, rows):.4g}")

    levels = (GpuProduct(make_plan((n, n, n), count), leaf) for count in range(most + 1))
    return Errors(inputs, n, n, n, len(rows), error(cublas()), tuple(map(error, levels)))


def products_by_levels() -> dict[str, tuple[Product, str]]:
    """Return products of 1, 2, … levels by their names in ``sgemm-lab errors``.

    Each has the fingerprint of the leaf kernel, empty where the dispatcher chooses.
    """
    kernel = load_kernel(TENSOR_CORE_LEAF)
    leaves: list[tuple[str, Leaf | None, str]] = [("fp32", None, "")]
    if suits(kernel, device_target()):
        leaves.append((kernel.arithmetic, LoadedKernel(kernel), kernel.fingerprint))
    return {
        level_error_name(arithmetic, levels): (partial(_multiply, levels, leaf), fingerprint)
        for arithmetic, leaf, fingerprint in leaves
        for levels in range(1, MOST_LEVELS + 1)
    }


def _multiply(levels: int, leaf: Leaf | None, a: Any, b: Any, c: Any) -> None:
    plan = make_plan((*c.shape, a.shape[1]), levels)
    GpuProduct(plan, leaf)(a, b, c)


def _name(plan: Plan) -> str:
    return "+".join(plan.schedules) or plural(0, "level")
