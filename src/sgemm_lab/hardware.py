"""Constants of all NVIDIA GPUs in the book.

Source: CUDA C++ Programming Guide, "Compute Capabilities" and "Device Memory Accesses". Rates of
one SM, such as bytes of shared memory per clock, are the same from compute capability 7.5 to 12.0.
"""

WARP = 32
"""Threads of a warp; a lane is one of them."""
SECTOR_BYTES = 32
"""Granularity of global memory transfers."""
BANKS = 32
"""Banks of shared memory, each 4 bytes wide."""
WORD_BYTES = 4
FLOAT_BYTES = 4
"""Bytes of a float32, the elements of A, B and C."""
WAVEFRONT_BYTES = BANKS * WORD_BYTES
"""Bytes that shared memory of an SM moves per clock, in one wavefront."""
LINES_PER_LOOKUP = 4
"""Lines of L1 that one lookup resolves per clock."""
FLOP_PER_FMA = 2
FLOP_PER_WARP_FMA = FLOP_PER_FMA * WARP
"""FLOP of one fused multiply-add instruction of a warp."""
MAX_REGISTERS = 255
"""Maximum number of registers of a thread."""
STATIC_SHARED = 48 * 1024
"""Maximum bytes of static ``__shared__`` arrays of a block."""
