"""Strassen's product as a page tells of it."""

import re
import sys
from math import prod

import pytest

from sgemm_lab import lab
from sgemm_lab.errors import LabError

MODULE = sys.modules["sgemm_lab.lab.strassen"]  # lab.strassen is the verb


def test_tables_come_from_the_record() -> None:
    found = lab.strassen_results()
    lines = found.levels_table(16384).text.splitlines()
    assert len(lines) == 1 + 5 + 1
    way = found.best(16384)
    assert f"{found.tflops(16384, way):.1f}" in lines[1 + way.levels]
    assert found.plain(16384).levels == 0
    assert "uniform in 0 to 1" in found.errors_table(4096).text
    assert found.grown(16384, 1) == pytest.approx(found.growth, rel=0.1)
    with pytest.raises(LabError, match="not measured at 100×100×100"):
        found.at(100)
    with pytest.raises(LabError, match="Errors of odd matrices were not measured"):
        found.errors(4096, "odd")
    with pytest.raises(LabError, match="twice was not measured at 2048"):
        found.way(2048, ("twice",))


def test_a_reader_can_divide_the_factors_of_its_box_again() -> None:
    text = lab.strassen_results().closing(16384).text
    quotients = re.findall(r"(\w+): ([\d.]+) ÷ ([\d.]+) TFLOP/s = ([\d.]+)", text)
    assert [kind for kind, *_ in quotients] == ["Factor", "Estimated"]
    for _, above, below, found in quotients:
        assert float(above) / float(below) == pytest.approx(float(found), abs=0.006)
    why = r"Why ([\d.]+)×: .*? lose\. ([\d.]+) = ([\d.]+) .*? × ([\d.]+) .*? × ([\d.]+)"
    product = re.search(why, text)
    assert product is not None
    heading, total, *factors = map(float, product.groups())
    assert heading == total == float(quotients[0][3])
    assert prod(factors) == pytest.approx(total, rel=0.012)


def test_it_multiplies_in_numpy_where_no_gpu_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "has_gpu", lambda: False)
    told = lab.strassen(levels=1, size=64)
    assert "64³, in NumPy" in told.text
    assert "7 of 32³" in told.text
