"""The lines of the scoreboard, as the command prints them."""

from sgemm_lab.models.scoreboard import lines
from sgemm_lab.records.store import load_records
from sgemm_lab.records.strassen import STRASSEN_RECORDS

RECORDS, STRASSEN = load_records(), STRASSEN_RECORDS.load_all()


def test_every_kernel_has_its_arithmetic_and_strassen_its_levels() -> None:
    found = lines(RECORDS, STRASSEN, bounds=False)
    by_name = {line.kernel: line for line in found}
    assert by_name["naive"].arithmetic == "fp32"
    assert by_name["wgmma_3xfp16"].arithmetic == "3xfp16"
    strassen = [line for line in found if line.kernel == "strassen"]
    assert {line.arithmetic for line in strassen} >= {"strassen"}
    assert all(line.levels for line in strassen)
    assert {line.bound_gflops for line in found} == {None}


def test_the_library_computes_in_the_same_arithmetic() -> None:
    found = {(line.kernel, line.size): line for line in lines(RECORDS, [], "h100", bounds=False)}
    size = (4096, 4096, 4096)
    plain, fp16, three = (found[name, size] for name in ("tiled", "wgmma_fp16", "wgmma_3xfp16"))
    assert plain.library_gflops == plain.cublas_gflops
    assert three.library_gflops == three.cublas_gflops
    assert fp16.library_gflops > 5 * fp16.cublas_gflops
    assert fp16.share == fp16.gflops / fp16.library_gflops < 1


def test_part_of_a_gpus_name_selects_it() -> None:
    assert lines(RECORDS, STRASSEN, "h200", bounds=False)
    assert lines(RECORDS, STRASSEN, "No such GPU", bounds=False) == []
