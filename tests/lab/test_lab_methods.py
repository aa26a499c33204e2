"""What moves a number, as a page shows it."""

import pytest
from record_samples import DEVICE, reading, run

from sgemm_lab import lab
from sgemm_lab.errors import LabError
from sgemm_lab.lab import session
from sgemm_lab.lab.methods import Effects
from sgemm_lab.measuring.methods import METHODS, SIZES
from sgemm_lab.records.gpu_record import Reading, Record, Run


def sample_record(*, drift: float = 1.0) -> Record:
    readings: list[Reading] = [
        reading(f"effect.{way}", size, 100.0 * (i + 1), 110.0 * (i + 1), 100.0 * drift * (i + 1))
        for i, way in enumerate(METHODS)
        for size in SIZES
    ]
    return Record(DEVICE, (run(readings=(*readings, reading("effect.watts.zeros", 4096, 300.0))),))


def test_a_change_is_against_the_books_way() -> None:
    found = Effects(sample_record())
    assert found.change("cached", 512) == pytest.approx(1.0)
    assert found.change("book", 512) == 0
    rows = repr(found).splitlines()
    assert rows[1].startswith("as the book measures, GFLOP/s")
    assert rows[1].split()[-1] == "100"
    assert rows[2].endswith("+100.0 %")


def test_the_picture_tells_drift_from_steadiness() -> None:
    assert "changed by +20.0 % to +20.0 %" in repr(Effects(sample_record(drift=1.2)).turns())
    assert "no method changed by more than 0.0 %" in repr(Effects(sample_record()).turns())


def test_what_was_not_measured_is_a_sentence() -> None:
    with pytest.raises(LabError, match=r"'clock.zeros' was not measured at 4096"):
        Effects(sample_record()).samples("clock.zeros", 4096)
    with pytest.raises(LabError, match="does not hold the effects"):
        Effects(Record(DEVICE, (run(),)))


def test_on_a_gpu_they_are_measured_once_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Run] = []

    def measure_here(kernels: object, sizes: object, *, effects: bool) -> Run:
        assert not kernels
        assert not sizes
        assert effects
        session._here[:] = [sample_record()]
        taken.append(session._here[0].runs[0])
        return taken[-1]

    monkeypatch.setattr(session, "live", lambda: True)
    monkeypatch.setattr(session, "measure_here", measure_here)
    try:
        first, second = lab.effects(), lab.effects()
    finally:
        session._here.clear()
    assert first.run is second.run is taken[0]
    assert len(taken) == 1
