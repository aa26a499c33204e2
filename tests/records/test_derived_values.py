"""Values that records derive from what was measured."""

from sgemm_lab.records.multi_gpu import LibraryTimes
from sgemm_lab.records.strassen import strassen_over


def test_tflops_of_a_library() -> None:
    times = LibraryTimes("cuBLASMp", "1", 2, 1000, "rows", (0.002, 0.001, 0.004))
    assert times.tflops == 1.0


def test_strassen_names_its_arithmetic_unless_it_is_fp32() -> None:
    assert strassen_over("tf32").endswith("+tf32")
    assert strassen_over("tf32").removesuffix("+tf32") == strassen_over("fp32")
