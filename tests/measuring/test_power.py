"""Power of products: which readings there are, and what they are made of."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sgemm_lab.measuring import power as module
from sgemm_lab.measuring.interleaved import CardReadings
from sgemm_lab.measuring.power import POWER_CAP, POWER_SIZE, power
from sgemm_lab.records.gpu_record import Measurement


def timed(products: dict[str, Any], size: tuple[int, int, int], _: Any) -> list[Any]:
    ((name, product),) = products.items()
    product(1, 2, 3)
    return [Measurement(name, "", *size, 1, (0.8, 0.4), clock_mhz=1500)]


@contextmanager
def watched() -> Iterator[CardReadings]:
    yield CardReadings(power_w=[200.0, 400.0, 690.0, 700.0])


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    monkeypatch.setattr(module, "contenders", lambda _: {"a": lambda *given: made.append(given)})
    monkeypatch.setattr(module, "time_interleaved", timed)
    monkeypatch.setattr(module, "watch_card", watched)
    monkeypatch.setattr(module, "device_target", lambda: "sm_90")
    monkeypatch.setattr(module, "_cap", lambda: 700.0)
    return made


def test_the_readings_are_watts_once_they_are_steady_clock_and_speed(launches: list[Any]) -> None:
    found = {one.benchmark: one for one in power()}
    assert list(found) == [POWER_CAP, "power.a.watts", "power.a.clock", "power.a.gflops"]
    assert found[POWER_CAP].samples == (700.0,)
    assert found["power.a.watts"].samples == (690.0, 700.0)
    assert found["power.a.clock"].samples == (1500.0,)
    flop = 2 * POWER_SIZE**3
    assert found["power.a.gflops"].samples == pytest.approx([flop / 1e8, flop / 5e7])
    assert launches == [(1, 2, 3)] * 8


@pytest.mark.usefixtures("launches")
def test_there_are_none_without_a_limit_or_without_wgmma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "device_target", lambda: "sm_80")
    assert list(power()) == []
    monkeypatch.setattr(module, "device_target", lambda: "sm_90")
    monkeypatch.setattr(module, "_cap", lambda: None)
    assert list(power()) == []


@pytest.mark.parametrize(("said", "cap"), [("700.00\n", 700.0), ("[N/A]\n", None)])
def test_the_limit_is_what_nvidia_smi_says(
    monkeypatch: pytest.MonkeyPatch, said: str, cap: float | None
) -> None:
    answer = subprocess.CompletedProcess([], 0, stdout=said)
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: answer)
    assert module._cap() == cap
