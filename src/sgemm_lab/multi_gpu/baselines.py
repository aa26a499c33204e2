"""Measure the same product with libraries on the same GPUs.

The libraries are JAX, PyTorch's DTensor, NVIDIA's cuBLASMp and CuPy's distributed arrays, all in
FP32 without TF32. JAX and CuPy run in one process, the others in one process per GPU.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.multi_gpu.layouts import squarest_grid
from sgemm_lab.records.multi_gpu import LibraryTimes

JAX, TORCH, CUBLASMP, CUPYX = "jax", "torch", "cublasmp", "cupyx"
BY_ROWS, BY_TILES = "A by rows, B by columns", "both by tiles"
LAYOUTS = {
    JAX: (BY_TILES, BY_ROWS),
    CUBLASMP: (BY_TILES, BY_ROWS),
    CUPYX: (BY_ROWS,),
    TORCH: (BY_TILES, BY_ROWS),
}
"""Distributions of A and B by library. C is distributed like A."""
LIBRARIES = tuple(LAYOUTS)

_TURNS = 7
_WARM_UP = 2
_MPI_LIMIT = 90.0
"""Time limit of the ranks of ``mpirun`` in seconds."""
_NEEDS = {CUBLASMP: ("nvmath", "nvidia.cublasmp", "mpi4py")}
"""Modules of a library, if they differ from its name."""


def installed(library: str) -> bool:
    """Whether a library can be imported."""
    return all(_is_there(module) for module in _NEEDS.get(library, (library,)))


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def measure(library: str, gpus: int, n: int, layout: str) -> LibraryTimes:
    """Measure a library's product of n³ on some GPUs.

    Raises:
        LabError: the library is missing, or the measurement failed.
    """
    if not installed(library):
        raise MissingToolError(f"{library} is not installed here.")
    run: dict[str, Callable[[int, int, str], tuple[str, list[float]]]] = {
        JAX: _jax,
        TORCH: _torch,
        CUBLASMP: _cublasmp,
        CUPYX: _cupyx,
    }
    version, seconds = run[library](gpus, n, layout)
    rounded = tuple(float(f"{s:.5g}") for s in seconds)
    return LibraryTimes(library, version, gpus, n, layout, rounded)


def _jax(gpus: int, n: int, layout: str) -> tuple[str, list[float]]:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    if len(jax.devices()) < gpus or jax.devices()[0].platform != "gpu":
        raise LabError(f"JAX finds fewer than {gpus} GPUs here.")
    grid = (gpus, 1) if layout == BY_ROWS else squarest_grid(gpus)
    mesh = Mesh(np.array(jax.devices()[:gpus]).reshape(grid), ("i", "j"))

    def lying(*axes: Any) -> Any:
        return NamedSharding(mesh, PartitionSpec(*axes))

    a_lies = lying("i", None) if layout == BY_ROWS else lying("i", "j")
    b_lies = lying(None, "i") if layout == BY_ROWS else lying("i", "j")

    def uniform(seed: int, where: Any) -> Any:
        def make() -> Any:
            return jax.random.uniform(jax.random.PRNGKey(seed), (n, n), jnp.float32, -0.5, 0.5)

        return jax.jit(make, out_shardings=where)()

    a, b = uniform(1, a_lies), uniform(2, b_lies)

    def dot(a: Any, b: Any) -> Any:
        return jnp.dot(a, b, precision=jax.lax.Precision.HIGHEST)

    product = jax.jit(dot, out_shardings=a_lies)
    seconds = []
    for turn in range(_WARM_UP + _TURNS):
        jax.block_until_ready((a, b))
        begin = time.perf_counter()
        product(a, b).block_until_ready()
        if turn >= _WARM_UP:
            seconds.append(time.perf_counter() - begin)
    return str(jax.__version__), seconds


def _cupyx(gpus: int, n: int, layout: str) -> tuple[str, list[float]]:
    """Distribute A by rows; B is resharded to all GPUs for the product."""
    import cupy
    from cupyx.distributed.array import distributed_array, make_2d_index_map

    parts = [n * gpu // gpus for gpu in range(gpus + 1)]
    rows = make_2d_index_map(parts, [0, n], [[{gpu}] for gpu in range(gpus)])
    columns = make_2d_index_map([0, n], parts, [[{gpu} for gpu in range(gpus)]])
    everywhere = make_2d_index_map([0, n], [0, n], [[set(range(gpus))]])
    random = cupy.random.default_rng(seed=1)
    a, b = (
        distributed_array(random.random((n, n), dtype="float32") - 0.5, lies)
        for lies in (rows, columns)
    )
    cupy.get_default_memory_pool().free_all_blocks()
    seconds = []
    for turn in range(_WARM_UP + _TURNS):
        _await_all(cupy, gpus)
        begin = time.perf_counter()
        product = a @ b.reshard(everywhere)
        _await_all(cupy, gpus)
        if turn >= _WARM_UP:
            seconds.append(time.perf_counter() - begin)
        del product
    return str(cupy.__version__), seconds


def _await_all(cupy: Any, gpus: int) -> None:
    for gpu in range(gpus):
        with cupy.cuda.Device(gpu):
            cupy.cuda.Device().synchronize()


def _cublasmp(gpus: int, n: int, layout: str) -> tuple[str, list[float]]:
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        raise MissingToolError("cuBLASMp runs in one process per GPU, and there is no mpirun here.")
    given = [str(n), str(_WARM_UP), str(_TURNS), "rows" if layout == BY_ROWS else "tiles"]
    module = [sys.executable, "-m", "sgemm_lab.multi_gpu.cublasmp", *given]
    try:
        done = subprocess.run(
            [mpirun, "-n", str(gpus), *module],
            capture_output=True, text=True, check=False, timeout=_MPI_LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise LabError(f"cuBLASMp did not finish in {_MPI_LIMIT:.0f} seconds.") from None
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not answers:
        faults = [line for line in done.stderr.splitlines() if "Error" in line]
        raise LabError(f"cuBLASMp failed. {(faults or ['It printed no error.'])[-1]}")
    answer = json.loads(answers[-1])
    return str(answer["version"]), answer["seconds"]


def _torch(gpus: int, n: int, layout: str) -> tuple[str, list[float]]:
    import torch
    import torch.multiprocessing as processes

    if torch.cuda.device_count() < gpus:
        raise LabError(f"PyTorch finds fewer than {gpus} GPUs here.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = processes.get_context("spawn")
    answers = context.SimpleQueue()
    processes.spawn(_torch_rank, args=(gpus, n, layout, port, answers), nprocs=gpus)
    return str(torch.__version__), answers.get()


def _torch_rank(rank: int, gpus: int, n: int, layout: str, port: int, answers: Any) -> None:
    """Multiply as one rank; rank 0 puts the times into ``answers``."""
    import torch
    import torch.distributed as distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    torch.backends.cuda.matmul.allow_tf32 = False
    distributed.init_process_group("nccl", rank=rank, world_size=gpus)
    grid = (gpus,) if layout == BY_ROWS else squarest_grid(gpus)
    mesh = init_device_mesh("cuda", grid)
    a_lies = [Shard(0)] if layout == BY_ROWS else [Shard(0), Shard(1)]
    b_lies = [Shard(1)] if layout == BY_ROWS else [Shard(0), Shard(1)]
    torch.manual_seed(1)
    a, b = (
        distribute_tensor(torch.rand(n, n, device="cuda") - 0.5, mesh, lies)
        for lies in (a_lies, b_lies)
    )
    seconds = []
    for turn in range(_WARM_UP + _TURNS):
        torch.cuda.synchronize()
        distributed.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        (a @ b).redistribute(mesh, a_lies)
        torch.cuda.synchronize()
        took = torch.tensor(time.perf_counter() - begin, device="cuda", dtype=torch.float64)
        distributed.all_reduce(took, distributed.ReduceOp.MAX)
        if turn >= _WARM_UP:
            seconds.append(float(took))
    if rank == 0:
        answers.put(seconds)
    distributed.destroy_process_group()
