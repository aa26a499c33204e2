"""One rank of cuBLASMp's product of n³, which ``baselines`` starts.

``mpirun -n GPUS python -m sgemm_lab.multi_gpu.cublasmp N WARM_UP TURNS rows|tiles``; rank 0 prints
the version and the seconds of each turn as a line of JSON. It uses nvmath-python, NVIDIA's binding;
cuBLASMp's matrices are column-major.
"""

import json
import sys
import time

from sgemm_lab.multi_gpu.layouts import squarest_grid


def main() -> None:
    """Multiply as one rank."""
    n, warm_up, turns, lies = *map(int, sys.argv[1:4]), sys.argv[4]
    import cupy
    import nvmath.distributed
    from mpi4py import MPI
    from nvmath.bindings import cublasMp
    from nvmath.distributed import distribution
    from nvmath.distributed.linalg.advanced import Matmul, MatmulComputeType

    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    cupy.cuda.Device(rank).use()
    nvmath.distributed.initialize(rank, world, backends=["nvshmem", "nccl"])
    if lies == "rows":
        slab = distribution.Slab
        where = [slab.X, slab.Y, slab.X]
    else:
        grid = distribution.ProcessGrid(
            shape=squarest_grid(ranks), layout=distribution.ProcessGrid.Layout.ROW_MAJOR
        )
        where = [distribution.BlockNonCyclic(grid) for _ in range(3)]
    random = cupy.random.default_rng(seed=rank)
    a, b = (
        cupy.asfortranarray(random.random(lie.shape(rank, (n, n)), dtype="float32") - 0.5)
        for lie in where[:2]
    )
    seconds = []
    fp32 = {"compute_type": MatmulComputeType.COMPUTE_32F}
    with Matmul(a, b, distributions=where, options=fp32) as product:
        product.plan()
        for turn in range(warm_up + turns):
            cupy.cuda.Device().synchronize()
            world.Barrier()
            begin = time.perf_counter()
            product.execute()
            cupy.cuda.Device().synchronize()
            took = world.allreduce(time.perf_counter() - begin, op=MPI.MAX)
            if turn >= warm_up:
                seconds.append(took)
    if rank == 0:
        number = cublasMp.get_version()
        version = f"{number // 1000}.{number // 100 % 10}.{number % 100}"
        print(json.dumps({"version": version, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
