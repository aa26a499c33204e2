"""Launches that no GPU takes, or that would take hours here.

Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities", technical specifications
per compute capability; the same from 7.5 to 12.0 but for the shared memory of a block.
"""

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import GPUS
from sgemm_lab.simulator.group import Launch

_MAX_THREADS = 1024
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = (1024, 1024, 64)
_STATIC_SHARED = 48 * 1024
"""Bytes of ``__shared__`` arrays whose size is in the source; ptxas refuses more."""
_MOST_LANES = 2**31
"""Threads of a launch that the simulator starts. Even empty ones take minutes above this."""


def refuse_impossible(launch: Launch) -> None:
    """Refuse a launch that no GPU takes, or that would take hours.

    Raises:
        LabError: says what is too large, and what to do.
    """
    if launch.threads > _MAX_THREADS:
        raise LabError(f"A block has at most {_MAX_THREADS} threads, not {launch.threads}.")
    for what, sizes, limits in (
        ("grid", launch.grid, _MOST_BLOCKS),
        ("block", launch.block, _MOST_THREADS),
    ):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size > limit:
                raise LabError(
                    f"The {what} has {size:,} along {axis}; a GPU takes at most {limit:,}. "
                    "Check how the launch is worked out."
                )
    if launch.blocks * launch.threads > _MOST_LANES:
        raise LabError(
            f"The grid has {launch.blocks:,} blocks of {launch.threads:,} threads. Simulating "
            "them would take hours. Take a smaller grid."
        )
    _refuse_shared(launch)


def _refuse_shared(launch: Launch) -> None:
    static = sum(array.bytes for array in launch.kernel.shared)
    if static > _STATIC_SHARED:
        raise LabError(
            f"The kernel declares {static:,} bytes of shared memory for a block; the compiler "
            f"takes at most {_STATIC_SHARED:,}. Choose a smaller tile, or take dynamic shared "
            "memory (extern __shared__), of which there is more."
        )
    wanted, limit = static + launch.shared_bytes, shared_limit(launch.kernel.target)
    if wanted > limit:
        of_target = f" of {launch.kernel.target}" if launch.kernel.target else ""
        raise LabError(
            f"The kernel wants {wanted:,} bytes of shared memory for a block; a GPU{of_target} "
            f"has {limit:,}. Choose a smaller tile or a smaller K."
        )


def shared_limit(target: str) -> int:
    """Bytes of shared memory that a block can have: of the GPUs that the book knows, the most."""
    ours = [g for g in GPUS if f"sm_{g.compute_capability.replace('.', '')}" == target]
    return max(gpu.shared_per_block for gpu in ours or GPUS)
