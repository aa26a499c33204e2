"""The picture of drawn shapes: its words, its points, and where nothing is recorded."""

from dataclasses import replace

import pytest
from table_samples import ENVIRONMENT, point, table

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab import dispatcher as module
from sgemm_lab.records.dispatch_table import DrawnShape, DrawnShapes

SHAPE = DrawnShape(64, 65, 66, "naive", 2e-6, 3e-6, 2.1e-6, "tiled", 1.8e-6)
RUN = DrawnShapes(
    *ENVIRONMENT,
    seed=5,
    shapes=(SHAPE, replace(SHAPE, m=99, seconds=4e-6, best_seconds=4e-6)),
    tuned=(replace(SHAPE, seconds=1e-6, tune="first", cost=0.003),),
)
TABLE = replace(table(point("naive", (8, 8, 8), 1e-6)), drawn=RUN)


def test_the_first_recorded_run_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_tables", lambda: [replace(TABLE, drawn=None), TABLE])
    picture = lab.drawn_shapes()
    assert (picture.run, picture.gpu) == (RUN, "NVIDIA H200")
    assert picture.verdict.low == 1
    assert picture.tuned["first"].geometric_mean == pytest.approx(3)
    assert "half of 2 shapes drawn at random are predicted within 48 %" in repr(picture)
    assert "<svg" in str(picture._repr_mimebundle_())


def test_without_a_run_a_sentence_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_tables", lambda: [replace(TABLE, drawn=None)])
    with pytest.raises(LabError, match="No drawn shapes are recorded"):
        lab.drawn_shapes()


def test_the_book_has_a_run_whose_shapes_no_fit_saw() -> None:
    found = lab.drawn_shapes()
    assert found.verdict.shapes == 100
    assert found.verdict.geometric_mean > 1.1
    assert found.tuned["first"].of_best > found.verdict.of_best
