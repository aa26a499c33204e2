"""Tests of the verbs see no GPU, unless they pretend one."""

import pytest

from sgemm_lab.lab import session


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "live", lambda: False)
