"""The exercises of chapter 13, fewer products."""

from sgemm_lab.errors import LabError
from sgemm_lab.exercises.model import Estimate, Found, Machine, Number
from sgemm_lab.gemm.strassen.error import UNIFORM
from sgemm_lab.gemm.strassen.plan import WIDE, Plan, make_plan
from sgemm_lab.records.strassen import STRASSEN_RECORDS, StrassenRun, latest
from sgemm_lab.text import error_text

_SIDE = 16384
_TFLOPS, _TBS = 55.0, 3.9
"""As exercise 13.3 gives them."""


def _run() -> tuple[StrassenRun, str]:
    """Return what the book recorded first, and where it is from.

    Raises:
        LabError: there is no record.
    """
    records = STRASSEN_RECORDS.load_all()
    if not records:
        raise LabError(
            "Strassen's product was not recorded. Run 'sgemm-lab strassen record' on a GPU."
        )
    run = latest(records[0])
    return run, f"Recorded on {records[0].gpu.name}, {run.date[:10]}."


def _levels(_: Machine) -> Found:
    run, source = _run()
    times = run.at(_SIDE)
    size = (_SIDE, _SIDE, _SIDE)
    usual = [one for one in times.ways if one.schedules == make_plan(size, one.levels).schedules]
    way = max(usual, key=lambda one: times.tflops(one.seconds))
    says = f"They make {times.tflops(way.seconds):.1f} TFLOP/s, {times.share(way):.2f} of cuBLAS."
    return Found(way.levels, source, says)


def _error(_: Machine) -> Found:
    run, source = _run()
    levels = run.error_at(_SIDE, UNIFORM).levels
    says = f"The error went from {error_text(levels[0])} to {error_text(levels[2])}."
    return Found(levels[2] / levels[0], source, says)


def _workspace() -> float:
    return Plan((_SIDE, _SIDE, _SIDE), (WIDE,)).workspace_bytes / 1e9


def _border() -> float:
    plan = Plan((_SIDE, _SIDE, _SIDE), (WIDE,))
    bytes_of_square = plan.moved_bytes / _SIDE**2
    flop_of_cube = 2 / 8
    return bytes_of_square / _TBS / (flop_of_cube / _TFLOPS)


EXERCISES = (
    Number(
        name="13.1",
        unit="%",
        expected=lambda: 100 * (7 / 8) ** 3,
        because="343 products for 512.",
        hint="A level makes seven of eight products. The next one does so with each of the seven.",
        hints=(
            (87.5, "That is after one level. The next ones leave seven eighths of the rest."),
            (62.5, "Levels multiply: each leaves seven eighths of what was left before."),
            (33.01, "That is what is saved. What is left?"),
        ),
        solution=67,
        wrong=((87.5, "after one level"), (62.5, "Levels multiply"), (33, "saved"), (50, "seven")),
    ),
    Number(
        name="13.2",
        unit="GB",
        expected=_workspace,
        because="21 quadrants of 8192 × 8192 floats.",
        hint="How many floats has a quadrant, and how many quadrants are there?",
        hints=(
            (22.55, "That is with whole matrices. A quadrant has half their rows and columns."),
            (1.409, "A float has 4 bytes."),
            (5.25, "That is in units of 2³⁰ bytes; here GB are 10⁹."),
        ),
        tolerance=0.01,
        solution=5.64,
        wrong=((22.55, "whole matrices"), (1.409, "4 bytes"), (1.88, "How many floats")),
    ),
    Number(
        name="13.3",
        unit="rows",
        expected=_border,
        because="There, one product of eight takes as long as the 33 quadrants of the additions.",
        hint="Set the time of the product that is saved equal to that of the bytes that are moved.",
        hints=(
            (465, "That counts floats. A float has 4 bytes."),
            (233, "One product of eight is saved, not the whole."),
            (931, "A multiply-add is two FLOP."),
            (3723, "A product of quadrants has 2·(n/2)³ FLOP."),
        ),
        tolerance=0.02,
        solution=1862,
        wrong=((465, "4 bytes"), (233, "of eight"), (5000, "Set the time")),
    ),
)

PREDICTIONS = (
    Estimate(
        name="levels-pay",
        unit="levels",
        close=0.0,
        found=_levels,
        wrong=((1, "too low"), (6, "too high")),
    ),
    Estimate(
        name="error-grows",
        unit="times as large",
        close=0.15,
        found=_error,
        wrong=((1, "too low"), (20, "too high")),
    ),
)
