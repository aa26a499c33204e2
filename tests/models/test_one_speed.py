"""A kernel has one speed at one size on one GPU, in all that feeds the pages."""

from collections import Counter

from sgemm_lab.lab.recorded import Recorded
from sgemm_lab.lab.speeds import find_scores
from sgemm_lab.models.ladder import ladder
from sgemm_lab.models.measured_bound import at_size, nearest_ancestor
from sgemm_lab.models.scoreboard import lines
from sgemm_lab.records.store import load_records, scores
from sgemm_lab.records.strassen import STRASSEN_RECORDS

RECORDS = load_records()
SCORES = scores(RECORDS)
SPEEDS = {(s.gpu, s.kernel, s.size): s.gflops for s in SCORES}


def test_the_scoreboard_has_one_line_for_a_product_at_a_size_on_a_gpu() -> None:
    found = lines(RECORDS, STRASSEN_RECORDS.load_all(), bounds=False)
    rows = Counter((o.gpu, o.kernel, o.arithmetic, o.levels, o.m, o.n, o.k) for o in found)
    assert [row for row, count in rows.items() if count > 1] == []
    plain = {(o.gpu, o.kernel, (o.m, o.n, o.k)): o.gflops for o in found if o.levels is None}
    assert plain == SPEEDS


def test_ladder_curves_boxes_and_samples_have_the_speeds_of_the_scoreboard() -> None:
    for step in ladder(RECORDS):
        if step.score:
            assert step.score.gflops == SPEEDS[step.score.gpu, step.kernel.name, step.score.size]
    kernels = [step.kernel for step in ladder(RECORDS)]
    sizes = sorted({score.size for score in SCORES})
    for record in RECORDS:
        for score in find_scores(kernels, sizes, [record]):
            assert score.gflops == SPEEDS[record.gpu.name, score.kernel, score.size]
        newest = {(m.kernel, m.size): m.gflops for m in Recorded(record).latest}
        for kernel in kernels:
            for score in record.scores_of(kernel):
                assert newest[kernel.name, score.size] == score.gflops


def test_both_speeds_of_a_closing_box_are_those_of_the_scoreboard_on_each_gpu() -> None:
    size, compared = (4096, 4096, 4096), 0
    for step in ladder(RECORDS):
        for record in RECORDS:
            now = at_size(step.kernel, size, [record])
            if now is None or now.score.picked:
                continue
            for one in filter(None, [now, nearest_ancestor(now)]):
                assert one.score.gflops == SPEEDS[one.score.gpu, one.kernel.name, size]
                compared += 1
    assert compared > 100
