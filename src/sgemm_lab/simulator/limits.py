"""Launches that no GPU takes, or that would take hours here.

Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities", technical specifications
per compute capability; the same from 7.5 to 12.0 but for the shared memory of a block.
"""

from sgemm_lab.errors import LabError
from sgemm_lab.gpu import GPUS
from sgemm_lab.hardware import STATIC_SHARED
from sgemm_lab.simulator.group import Launch
from sgemm_lab.simulator.sentences import sentence

MAX_THREADS = 1024
MOST_BLOCKS_X, MOST_BLOCKS_YZ = 2**31 - 1, 65535
MOST_THREADS_XY, MOST_THREADS_Z = 1024, 64
MOST_LANES = 2**31
"""Threads of a launch that the simulator starts. Even empty ones take minutes above this."""
MOST_TOGETHER = 2**19
"""Threads of a launch whose blocks wait for each other: more than any GPU has at once."""
SHARED_LIMITS = {
    f"sm_{gpu.compute_capability.replace('.', '')}": gpu.shared_per_block for gpu in GPUS
}
"""Bytes of shared memory that a block can have, by target, of the GPUs that the book knows."""

_MOST_BLOCKS = (MOST_BLOCKS_X, MOST_BLOCKS_YZ, MOST_BLOCKS_YZ)
_MOST_THREADS = (MOST_THREADS_XY, MOST_THREADS_XY, MOST_THREADS_Z)


def refuse_impossible(launch: Launch) -> None:
    """Refuse a launch that no GPU takes, or that would take hours.

    Raises:
        LabError: says what is too large, and what to do.
    """
    if launch.threads > MAX_THREADS:
        raise LabError(sentence("limits.threads", most=MAX_THREADS, threads=launch.threads))
    for what, sizes, limits in (
        ("grid", launch.grid, _MOST_BLOCKS),
        ("block", launch.block, _MOST_THREADS),
    ):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size > limit:
                raise LabError(
                    sentence("limits.axis", what=what, size=size, axis=axis, limit=limit)
                )
    if launch.grid[0] % launch.cluster:
        raise LabError(sentence("limits.cluster", size=launch.grid[0], cluster=launch.cluster))
    if launch.blocks * launch.threads > MOST_LANES:
        raise LabError(sentence("limits.lanes", blocks=launch.blocks, threads=launch.threads))
    if launch.cooperative and launch.blocks * launch.threads > MOST_TOGETHER:
        threads = launch.blocks * launch.threads
        raise LabError(sentence("limits.together", threads=threads, most=MOST_TOGETHER))
    _refuse_shared(launch)


def _refuse_shared(launch: Launch) -> None:
    static = sum(array.bytes for array in launch.kernel.shared)
    if static > STATIC_SHARED:
        raise LabError(sentence("limits.static", bytes=static, most=STATIC_SHARED))
    wanted, limit = static + launch.shared_bytes, shared_limit(launch.kernel.target)
    if wanted > limit:
        target = f" of {launch.kernel.target}" if launch.kernel.target else ""
        raise LabError(sentence("limits.shared", wanted=wanted, target=target, limit=limit))


def shared_limit(target: str) -> int:
    """Bytes of shared memory that a block can have: of the GPUs that the book knows, the most."""
    return SHARED_LIMITS.get(target) or max(SHARED_LIMITS.values())
