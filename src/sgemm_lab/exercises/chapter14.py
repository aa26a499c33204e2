"""The exercises of chapter 14, fewer products."""

from sgemm_lab.errors import LabError
from sgemm_lab.exercises.criteria import Case, Counted, Criteria
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Estimate, Found, Machine, Number
from sgemm_lab.gemm.strassen.error import UNIFORM
from sgemm_lab.gemm.strassen.plan import WIDE, Plan, make_plan
from sgemm_lab.records.strassen import STRASSEN_RECORDS, StrassenRun, latest
from sgemm_lab.text import error_text

_SIDE = 16384
_TFLOPS, _TBS = 55.0, 3.9
"""As exercise 14.3 gives them."""
_SMALL = "register_cache:BM=32,BN=32,TM=2,TN=2"
_TILE = (32, 32, 8)
_ONE_K = """\
        for (int k = 0; k < BK; ++k) {
            float fragA[TM];  // this k's column of my rows
            float fragB[TN];  // this k's row of my columns
            for (int i = 0; i < TM; ++i) fragA[i] = As[ty * TM + i][k];
            for (int j = 0; j < TN; ++j) fragB[j] = Bs[k][tx * TN + j];
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += fragA[i] * fragB[j];
                }
            }
        }"""
_TWO_K = """\
        for (int k = 0; k < BK; k += 2) {
            const float a11 = As[2 * ty][k], a12 = As[2 * ty][k + 1];
            const float a21 = As[2 * ty + 1][k], a22 = As[2 * ty + 1][k + 1];
            const float b11 = Bs[k][2 * tx], b12 = Bs[k][2 * tx + 1];
            const float b21 = Bs[k + 1][2 * tx], b22 = Bs[k + 1][2 * tx + 1];
"""
_NO_PRODUCTS = f"{_TWO_K}            // acc[0][0] to acc[1][1] are my elements of C\n        }}"
_SEVEN = f"""\
{_TWO_K}            const float s1 = a21 + a22, s2 = s1 - a11, s3 = a11 - a21, s4 = a12 - s2;
            const float t1 = b12 - b11, t2 = b22 - t1, t3 = b22 - b12, t4 = t2 - b21;
            const float p1 = a11 * b11, p5 = s1 * t1;
            const float u2 = p1 + s2 * t2, u3 = u2 + s3 * t3;
            acc[0][0] += p1 + a12 * b21;
            acc[0][1] += u2 + p5 + s4 * b22;
            acc[1][0] += u3 - a22 * t4;
            acc[1][1] += u3 + p5;
        }}"""


def _run() -> tuple[StrassenRun, str]:
    """Return what the book recorded first, and where it is from."""
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
        name="14.1",
        unit="%",
        expected=lambda: 100 * (7 / 8) ** 3,
        because="343 products for 512.",
        hint="A level makes seven of eight products. The next one does so with each of the seven.",
        hints=(
            (87.5, "That is after one level. The next ones leave seven eighths of the rest."),
            (62.5, "Levels multiply: each leaves seven eighths of what was left before."),
            (33.01, "That is what is saved. What is left?"),
        ),
    ),
    Number(
        name="14.2",
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
    ),
    Number(
        name="14.3",
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
    ),
    Lines(
        name="14.4",
        kernel=_SMALL,
        place=_ONE_K,
        start=_NO_PRODUCTS,
        criteria=Criteria(
            (
                Case(
                    True,
                    "seven products. On single numbers they do not pay: the additions are more "
                    "FLOP than the product that they save. On large quadrants an addition costs "
                    "next to nothing beside a product.",
                    "made",
                    above="definition",
                ),
                Case(
                    False,
                    "C is right, but with no more FLOP than by the definition these are eight "
                    "products. Seven need sums of A and of B first.",
                ),
            ),
            {"made": Counted("flop", _TILE), "definition": Counted("flop", _TILE, of=_SMALL)},
        ),
        solution=_SEVEN,
        only_whole_numbers=True,
    ),
)

PREDICTIONS = (
    Estimate(
        name="levels-pay",
        unit="levels",
        close=0.0,
        found=_levels,
    ),
    Estimate(
        name="error-grows",
        unit="times as large",
        close=0.15,
        found=_error,
    ),
)
