"""Limits of a launch, on any GPU and in the simulator.

Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities", technical specifications
per compute capability; the same from 7.5 to 12.0 but for the shared memory of a block.
"""

from sgemm_lab.gpu import GPUS

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
