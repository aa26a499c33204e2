"""What every NVIDIA GPU of the book has in common, in whole numbers.

Source: CUDA C++ Programming Guide, "Compute Capabilities" and "Device Memory Accesses". Rates of
one SM, such as bytes of shared memory per clock, are the same from compute capability 7.5 to 12.0.
"""

WARP = 32
"""Threads of a warp; a lane is one of them."""
SECTOR_BYTES = 32
"""Smallest piece of global memory that moves."""
BANKS = 32
"""Shared memory banks, each one 4-byte word wide."""
WORD_BYTES = 4
FLOAT_BYTES = 4
"""Bytes of a float32, the elements of A, B and C."""
WAVEFRONT_BYTES = BANKS * WORD_BYTES
"""Bytes that the shared memory of an SM moves in one clock, or in one wavefront."""
FLOP_PER_FMA = 2
FLOP_PER_WARP_FMA = FLOP_PER_FMA * WARP
"""FLOP of one fused multiply-add instruction of a warp."""
MAX_REGISTERS = 255
"""Registers that a thread may have."""
STATIC_SHARED = 48 * 1024
"""Bytes of ``__shared__`` arrays of a block whose size is in the source; ptxas refuses more."""
