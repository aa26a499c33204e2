"""cuBLAS and cuRAND have stand-ins where a file's own main is followed."""

import re

import pytest
from file_reports import followed, program_text
from turns import TAKES_TURNS, TODAY

pytestmark = TAKES_TURNS

OWN_KERNEL = program_text("own_kernel")
EVERY_CALL = program_text("every_call")
BLOCK_SUMS = program_text("block_sums")


def test_products_and_random_numbers_are_what_the_libraries_document() -> None:
    program = followed(EVERY_CALL)
    assert (program["stopped"], program["printed"], program["status"]) == ("", ["0 wrong"], 0)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        ("i < k; i++) acc", "i < k - 1; i++) acc", " bad"),
        ("b, N, a, K, &beta, r, N", "b, N, B, K, &beta, r, N", "lies on the host"),
        ("N, M, K, &alpha", "N, M, K + 1, &alpha", "cuBLAS failed"),
        ("b, N, a, K, &beta", "b, N, a, K + 1, &beta", "cublasSgemm takes 796 bytes of a"),
    ],
)
@pytest.mark.sampled(every=3, first=TODAY)
def test_an_own_kernel_is_compared_with_cublas(right: str, wrong: str, says: str) -> None:
    assert right in OWN_KERNEL
    program = followed(OWN_KERNEL.replace(right, wrong) if right else OWN_KERNEL)
    found = [one["message"] for every in program["findings"].values() for one in every]
    assert any(says in one for one in found) if says else program["status"] == 0, program


def test_a_program_with_cub_in_its_kernels_is_followed() -> None:
    program = followed(BLOCK_SUMS)
    assert (program["status"], program["printed"]) == (0, ["2016 2080"])
    assert not program["findings"]
    hurried = BLOCK_SUMS.replace("    __syncthreads();\n", "")
    # A scan of two warps happens not to race.
    scan = re.sub(
        r"int (one|two) = .*Sum\((.*)\);", r"int \1; Reduce(held).ExclusiveSum(\2, \1);", hurried
    )
    scan = scan.replace("<cub/cub.cuh>", "<cstdio>").replace("Reduce<", "Scan<")
    program = followed(scan.replace("block_reduce", "block_scan"))
    assert "with no barrier between" in program["findings"]["sums"][0]["message"]
    program = followed(hurried)
    found = program["findings"]["sums"][0]
    assert "with no barrier between" in found["message"]
    assert (found["file"], found["line"]) == ("a.cu", 8)
