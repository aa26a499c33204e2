"""Whether a kernel fits on an SM, by the occupancy model and its own needs."""

from dataclasses import replace

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.compiler import Compiled
from sgemm_lab.gemm.dispatch.fits_on_sm import fit_refusal
from sgemm_lab.kernel import Constant, Kernel

KERNEL = load_kernel("double_buffer")
FITS = Compiled("sm_90", "", b"", registers=128, spill_bytes=0, shared_bytes=16384)


@pytest.mark.parametrize(
    ("found", "capability", "sentence"),
    [
        (FITS, "9.0", None),
        (replace(FITS, spill_bytes=8), "9.0", "It spills 8 bytes of registers per thread."),
        (replace(FITS, shared_bytes=300_000), "9.0", "shared memory"),
        (FITS, "1.0", "has no limits of an SM of compute capability 1.0"),
    ],
)
def test_a_kernel_that_does_not_fit_has_a_reason(
    found: Compiled, capability: str, sentence: str | None
) -> None:
    said = fit_refusal(KERNEL, found, capability)
    assert said is None if sentence is None else sentence in str(said)


def waiting(blocks: int) -> Kernel:
    """Return a kernel of 256 threads that needs ``blocks`` resident blocks per SM."""
    constant = Constant("BLOCKS", blocks, "blocks on an SM")
    return replace(KERNEL, constants=(*KERNEL.constants, constant))


def test_blocks_that_wait_for_each_other_must_be_resident() -> None:
    # 128 registers for each of 256 threads: an SM has room for two such blocks.
    assert fit_refusal(waiting(2), FITS, "9.0") is None
    assert fit_refusal(waiting(3), FITS, "9.0") == (
        "3 blocks must be resident on an SM, which holds 2."
    )
