"""Kernels without some of their parts: the edits fit, and the readings have the times."""

from typing import Any

import pytest

from sgemm_lab.errors import LabError
from sgemm_lab.measuring import ablation as module
from sgemm_lab.measuring.ablation import PARTS, SIZE, Part, ablation
from sgemm_lab.records.gpu_record import Measurement


@pytest.mark.parametrize("name", PARTS)
def test_the_edits_of_every_part_fit_the_kernel(name: str) -> None:
    part = PARTS[name]
    edited = part.load()
    assert (edited.source == Part(part.kernel).load().source) == (not part.edits)
    assert edited.display_name.startswith(part.kernel.partition(":")[0])


def test_an_edit_that_does_not_fit_is_refused() -> None:
    with pytest.raises(LabError, match="does not have 'no such line' once"):
        Part("wgmma_minimal", (("no such line", ""),)).load()


def test_the_readings_are_times_and_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(products: dict[str, Any], size: tuple[int, int, int]) -> list[Any]:
        assert size == (SIZE, SIZE, SIZE)
        times = (2e-4, 3e-4)
        return [Measurement(one, "", *size, 1, times, clock_mhz=1700) for one in products]

    monkeypatch.setattr(module, "LoadedKernel", lambda kernel: kernel)
    monkeypatch.setattr(module, "time_interleaved", timed)
    monkeypatch.setattr(module, "device_target", lambda: "sm_90")
    found = {one.benchmark: one for one in ablation()}
    assert set(found) == {f"part.{name}{end}" for name in PARTS for end in ("", ".clock")}
    assert found["part.one_group"].samples == pytest.approx((200.0, 300.0))
    assert found["part.one_group.clock"].samples == (1700.0,)
    monkeypatch.setattr(module, "device_target", lambda: "sm_80")
    assert list(ablation()) == []
