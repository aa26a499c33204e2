"""The engine on fake GPUs: correct in every order that its events allow, without deadlocks."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pretended_gpus import CudaError, Gpus, product

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import engine as engine_module
from sgemm_lab.multi_gpu import topology
from sgemm_lab.multi_gpu.engine import Engine
from sgemm_lab.multi_gpu.layouts import make_plan, rows
from sgemm_lab.multi_gpu.plan import Plan

Patch = Callable[[Gpus], None]


@pytest.fixture(scope="module")
def patch() -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:

        def put(gpus: Gpus) -> None:
            for module in (engine_module, topology):
                monkeypatch.setattr(module, "require_gpu", lambda: gpus)
            monkeypatch.setattr(engine_module, "cublas_on", product)

        yield put


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    layout = draw(st.sampled_from(["rows", "summa", "cannon"]))
    gpus = draw(st.sampled_from([1, 4, 9]) if layout == "cannon" else st.integers(1, 6))
    size = draw(st.tuples(*(st.integers(1, 12) for _ in range(3))))
    return make_plan(layout, size, gpus)


@given(plan=plans(), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=150)
def test_c_is_correct_in_any_order(patch: Patch, plan: Plan, seed: int) -> None:
    patch(Gpus(plan.gpus, seed))
    engine = Engine(plan)
    for _ in range(2):
        engine.fill_nan()
        engine.run()
        assert engine.check() <= 1


def test_without_events_the_result_is_wrong(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the orders of the test above matter."""
    monkeypatch.setattr(engine_module._Dependencies, "step", lambda *_: [])
    wrong = 0
    for seed in range(20):
        gpus = Gpus(4, seed)
        patch(gpus)
        engine = Engine(make_plan("cannon", (8, 8, 8), 4))
        engine.run()
        wrong += not engine.check() <= 1
    assert wrong > 5


def test_copies_have_a_higher_priority(patch: Patch) -> None:
    gpus = Gpus(2)
    patch(gpus)
    engine = Engine(rows((4, 4, 4), 2))
    workers = engine.workers
    assert all(w.moving.priority < stream.priority for w in workers for stream in w.work)


def test_several_tiles_of_c_alternate_between_two_streams(patch: Patch) -> None:
    gpus = Gpus(4)
    patch(gpus)
    for layout, lanes in (("rows", 2), ("cannon", 1)):
        plan = make_plan(layout, (8, 8, 8), 4)
        engine = Engine(plan)
        for worker in engine.workers:
            assert len(worker.work) == lanes
            used = {worker.lane(name) for name in worker.share.results}
            assert used == set(range(lanes))
        assert len(engine.streams) == 4 * (lanes + 1)


def test_a_hanging_run_is_an_error(patch: Patch) -> None:
    gpus = Gpus(2)
    patch(gpus)
    engine = Engine(rows((4, 4, 4), 2), time_limit=0.05)
    engine.workers[1].moving.held = True
    with pytest.raises(LabError, match=r"did not finish in 0\.05 seconds"):
        engine.run()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory": 2**20}, "of free memory, but its share takes"),
        ({"peers": False}, "cannot access the memory of GPU 1, which copies"),
    ],
)
def test_missing_capabilities_are_errors(patch: Patch, change: Any, words: str) -> None:
    gpus = Gpus(2, **change)
    patch(gpus)
    with pytest.raises(LabError) as caught:
        Engine(rows((4, 4, 4), 2))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (CudaError("cudaErrorDevicesUnavailable"), "A GPU refuses: cudaErrorDevicesUnavailable"),
        (MemoryError("no room"), "A GPU refuses: no room"),
    ],
)
def test_exceptions_of_cuda_become_messages(patch: Patch, fault: Exception, words: str) -> None:
    patch(Gpus(1))
    with pytest.raises(LabError, match=words), topology.cuda_errors_as_messages():
        raise fault
