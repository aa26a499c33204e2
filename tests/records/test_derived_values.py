"""Values that records derive from what was measured."""

from dataclasses import replace

from record_samples import record, run, samples

from sgemm_lab.records.gpu_record import CUBLAS_MODES
from sgemm_lab.records.multi_gpu import LibraryTimes
from sgemm_lab.records.strassen import strassen_over


def test_tflops_of_a_library() -> None:
    times = LibraryTimes("cuBLASMp", "1", 2, 1000, "rows", (0.002, 0.001, 0.004))
    assert times.tflops == 1.0


def test_strassen_names_its_arithmetic_unless_it_is_fp32() -> None:
    assert strassen_over("tf32").endswith("+tf32")
    assert strassen_over("tf32").removesuffix("+tf32") == strassen_over("fp32")


def test_the_library_is_the_latest_run_in_that_arithmetic_at_that_size() -> None:
    fp16, size = CUBLAS_MODES["fp16"], (100, 100, 100)
    old = samples(fp16, 0.004, fingerprint="")
    new, larger = replace(old, seconds=(0.002,)), samples(fp16, 0.001, size=200, fingerprint="")
    plain = samples("cublas", 0.009, fingerprint="")
    found = record(run(old, plain), run(new, larger, date="2026-01-03T03:04:05Z"))
    assert found.library("fp16", size) == new
    assert found.library("fp16", (200, 200, 200)) == larger
    assert found.library("fp16", (1, 1, 1)) is None
    assert found.library("tf32", size) is None
