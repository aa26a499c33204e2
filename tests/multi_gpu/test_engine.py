"""The engine on fake GPUs: correct in every order that its events allow, without deadlocks."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pretended_gpus import Communicator, CudaError, Gpus, Graph, product

from sgemm_lab.errors import LabError
from sgemm_lab.multi_gpu import engine as engine_module
from sgemm_lab.multi_gpu import nccl, single_gpu, topology
from sgemm_lab.multi_gpu.engine import COPY, NCCL, Engine, NotInTimeError
from sgemm_lab.multi_gpu.layouts import make_plan, rows
from sgemm_lab.multi_gpu.plan import Plan
from sgemm_lab.multi_gpu.single_gpu import BOOK, CUBLAS

Patch = Callable[[Gpus], None]


@pytest.fixture(scope="module")
def patch() -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:

        def put(gpus: Gpus) -> None:
            for module in (engine_module, topology):
                monkeypatch.setattr(module, "require_gpu", lambda: gpus)
            monkeypatch.setattr(engine_module, "nccl_library", lambda: gpus)
            monkeypatch.setattr(
                engine_module,
                "communicators",
                lambda count: [Communicator(gpus, gpu) for gpu in range(count)],
            )
            monkeypatch.setattr(
                engine_module, "local_product", lambda inside, stream, scratch: product(stream)
            )
            monkeypatch.setattr(engine_module, "Graph", lambda number: Graph(gpus, number))

        yield put


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    layout = draw(st.sampled_from(["rows", "summa", "cannon"]))
    gpus = draw(st.sampled_from([1, 4, 9]) if layout == "cannon" else st.integers(1, 6))
    size = draw(st.tuples(*(st.integers(1, 12) for _ in range(3))))
    return make_plan(layout, size, gpus)


@given(
    plan=plans(),
    transport=st.sampled_from([NCCL, COPY]),
    overlap=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=150)
def test_c_is_correct_in_any_order(
    patch: Patch, plan: Plan, transport: str, overlap: bool, seed: int
) -> None:
    gpus = Gpus(plan.gpus, seed)
    patch(gpus)
    engine = Engine(plan, transport=transport)
    program = engine.program(overlap=overlap)
    for _ in range(2):
        engine.fill_nan()
        program.run()
        assert engine.check() <= 1


def test_without_events_the_result_is_wrong(patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the orders of the test above matter."""
    monkeypatch.setattr(engine_module._Dependencies, "step", lambda *_: [])
    wrong = 0
    for seed in range(20):
        gpus = Gpus(4, seed)
        patch(gpus)
        engine = Engine(make_plan("cannon", (8, 8, 8), 4), transport=COPY)
        engine.program().run()
        wrong += not engine.check() <= 1
    assert wrong > 5


def test_transfers_have_a_higher_priority(patch: Patch) -> None:
    gpus = Gpus(2)
    patch(gpus)
    engine = Engine(rows((4, 4, 4), 2), transport=COPY)
    workers = engine.workers
    assert all(w.moving.priority < stream.priority for w in workers for stream in w.work)


def test_tiles_of_c_alternate_between_two_streams_only_with_cublas(patch: Patch) -> None:
    """The book's kernels may wait for blocks of their launch; two at once could deadlock."""
    gpus = Gpus(4)
    patch(gpus)
    for layout, inside, lanes in (("rows", CUBLAS, 2), ("rows", BOOK, 1), ("cannon", CUBLAS, 1)):
        plan = make_plan(layout, (8, 8, 8), 4)
        engine = Engine(plan, inside=inside, transport=COPY)
        for worker in engine.workers:
            assert len(worker.work) == lanes
            used = {worker.lane(name) for name in worker.share.results}
            assert used == set(range(lanes))
        assert len(engine.program().streams) == 4 * (lanes + 1)
        assert len(engine.program(overlap=False).streams) == 4


@given(plan=plans(), overlap=st.booleans(), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=80)
def test_graphs_give_the_same_product_repeatedly(
    patch: Patch, plan: Plan, overlap: bool, seed: int
) -> None:
    gpus = Gpus(plan.gpus, seed)
    patch(gpus)
    engine = Engine(plan, transport=COPY)
    program = engine.program(overlap=overlap)
    program.run()
    program.capture()
    for times in (1, 3):
        for worker in engine.workers:
            for name in worker.arrays.keys() - worker.share.own.keys():
                worker.arrays[name].fill(math.nan)  # what came before, too
        program.run(times)
        assert engine.check() <= 1
    program.release()
    engine.fill_nan()
    program.run()
    assert engine.check() <= 1


@pytest.mark.parametrize(
    ("layout", "gpus", "transport", "graphs"),
    [
        ("rows", 2, COPY, 2),
        ("rows", 4, COPY, 4),  # what is copied is nobody's result: no GPU waits for another
        ("cannon", 4, COPY, 4),
        ("cannon", 9, COPY, 1),  # a tile goes on from where it came to
        ("rows", 4, NCCL, 1),  # a transfer has two ends
        ("rows", 1, COPY, 1),
    ],
)
def test_connected_devices_are_found(
    patch: Patch, layout: str, gpus: int, transport: str, graphs: int
) -> None:
    pretended = Gpus(gpus)
    patch(pretended)
    plan = make_plan(layout, (9, 9, 9), gpus)
    engine = Engine(plan, transport=transport)
    program = engine.program()
    groups = program._connected_devices()
    assert len(groups) == graphs
    assert sorted(device for group in groups for device in group) == list(range(gpus))


@pytest.mark.parametrize(("gpus", "graphs"), [(1, 1), (2, 2), (3, 1), (4, 1)])
def test_two_gpus_have_a_graph_each_and_more_have_one(patch: Patch, gpus: int, graphs: int) -> None:
    pretended = Gpus(gpus)
    patch(pretended)
    engine = Engine(rows((9, 9, 9), gpus), transport=COPY)
    program = engine.program()
    program.capture()
    assert len(program._graphs) == graphs


def test_a_hanging_run_is_an_error(patch: Patch) -> None:
    gpus = Gpus(2)
    patch(gpus)
    engine = Engine(rows((4, 4, 4), 2), transport=NCCL, time_limit=0.05)
    engine.workers[1].moving.held = True
    with pytest.raises(NotInTimeError, match=r"did not finish in 0\.05 seconds"):
        engine.program().run()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory": 2**20}, "of free memory, but its share takes"),
        ({"peers": False}, "cannot access the memory of GPU 1. Use NCCL"),
    ],
)
def test_missing_capabilities_are_errors(patch: Patch, change: Any, words: str) -> None:
    gpus = Gpus(2, **change)
    patch(gpus)
    with pytest.raises(LabError) as caught:
        Engine(rows((4, 4, 4), 2), transport=COPY)
    assert words in str(caught.value)


def test_an_unknown_transport_is_refused(patch: Patch) -> None:
    patch(Gpus(2))
    with pytest.raises(LabError, match="no transport 'pigeon'"):
        Engine(rows((4, 4, 4), 2), transport="pigeon")


def test_too_few_gpus_are_an_error(patch: Patch) -> None:
    patch(Gpus(1))
    with pytest.raises(LabError, match="The plan is for 2 GPUs, but this process sees 1"):
        Engine(rows((4, 4, 4), 2))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (CudaError("cudaErrorDevicesUnavailable"), "A GPU refuses: cudaErrorDevicesUnavailable"),
        (MemoryError("no room"), "A GPU refuses: no room"),
        (type("NcclError", (RuntimeError,), {})("remote error"), "NCCL failed: remote error"),
    ],
)
def test_exceptions_of_cuda_and_nccl_become_messages(
    patch: Patch, fault: Exception, words: str
) -> None:
    patch(Gpus(1))
    with pytest.raises(LabError, match=words), topology.cuda_errors_as_messages():
        raise fault


def test_an_unknown_product_is_refused() -> None:
    with pytest.raises(LabError, match="no product 'mkl'"):
        single_gpu.local_product("mkl", None, 0)


def test_the_block_limit_is_refused_once_nccl_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl, "_limits_in_use", [])
    monkeypatch.setenv("NCCL_MAX_CTAS", "1")
    nccl.set_block_limit(4)
    nccl._limits_in_use.append("4")
    nccl.set_block_limit(4)
    with pytest.raises(LabError, match="has made one with 4"):
        nccl.set_block_limit(None)
