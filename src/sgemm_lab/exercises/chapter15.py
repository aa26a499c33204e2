"""The exercises of chapter 15, several GPUs."""

from collections.abc import Callable

from sgemm_lab.exercises.criteria import BLOCK, Case, Counted, Criteria
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Found, Machine, Number, Range
from sgemm_lab.multi_gpu.queries import RecordQueries, findings, flop_per_link_byte, median
from sgemm_lab.records.multi_gpu import NCCL
from sgemm_lab.text import number

_LARGE, _SMALL = 16384, 1024
_SIDE = 9216
"""N of the exercise on nine GPUs: a multiple of three."""
_RIDGE = 50e12 / 250e9
"""FLOP for each byte, of the GPU and the link that the exercise names."""
_ALL_TO_ALL = """\
        __syncthreads();  // no one reads a tile before all of it is there

        for (int k = 0; k < TILE; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }"""
_SKEW = """\
        __syncthreads();  // no one reads a tile before all of it is there

        float a = As[ty][(ty + tx) % TILE], b = Bs[(ty + tx) % TILE][tx];  // what I begin with
        for (int round = 0; round < TILE; ++round) {
            acc += a * b;
"""
_SEND = """\
            __syncthreads();  // no one overwrites what another has not received
            As[ty][tx] = a;
            Bs[ty][tx] = b;
            __syncthreads();  // all have sent
"""
_RECEIVE = """\
            a = As[ty][(tx + 1) % TILE];
            b = Bs[(ty + 1) % TILE][tx];
        }"""
_CANNON = f"{_SKEW}{_SEND}{_RECEIVE}"
_UNSKEWED = _SKEW.replace(
    "As[ty][(ty + tx) % TILE], b = Bs[(ty + tx) % TILE][tx]", "As[ty][tx], b = Bs[ty][tx]"
)
_STILL = f"{_UNSKEWED}            // send and receive here\n        }}"


def _ridge_size() -> float:
    """Return N at which two GPUs by rows stand at the ridge: FLOP per byte grow with N."""
    return _RIDGE * _SIDE / flop_per_link_byte("rows", _SIDE, 2)


def _recorded(what: Callable[[RecordQueries], tuple[float, str]]) -> Callable[[Machine], Found]:
    """Return what finds a number and a sentence in the record of several GPUs."""

    def found(_machine: Machine) -> Found:
        record = findings()
        value, says = what(record)
        source = f"Recorded on {record.record.gpu.name}s, {record.runs[0].date[:10]}."
        return Found(value, source, says)

    return found


def _efficiency(record: RecordQueries) -> tuple[float, str]:
    times = record.product(4, _LARGE, "cannon")
    alone, together = median(times.alone), median(times.overlap)
    return 100 * alone / together, (
        f"One GPU alone takes {number(1e3 * alone)} ms for its quarter of C, and the four of them "
        f"{number(1e3 * together)} ms for all."
    )


def _slow_transfer(record: RecordQueries) -> tuple[float, str]:
    fast = median(record.product(4, _LARGE, "cannon").overlap)
    few = record.product(4, _LARGE, "cannon", transport=NCCL, block_limit=4)
    slow = median(few.overlap)
    return fast / slow, (
        f"{number(1e3 * slow)} ms, and {number(1e3 * fast)} ms with the copy engines."
    )


def _small(record: RecordQueries) -> tuple[float, str]:
    one = median(record.product(1, _SMALL, graph=True).overlap)
    two = median(record.product(2, _SMALL, graph=True).overlap)
    return one / two, f"{number(1e6 * two)} µs on two GPUs, {number(1e6 * one)} µs on one."


EXERCISES = (
    Number(
        name="15.1",
        unit="FLOP/B",
        expected=lambda: flop_per_link_byte("cannon", _SIDE, 9),
        because="A GPU makes 2·N³/9 FLOP and receives two tiles of A and two of B: N/8.",
        hint="Divide the FLOP of one GPU by the bytes of the tiles that it receives.",
        hints=(
            (4608, "N/2 is that of two GPUs by rows."),
            (2304, "N/4 is that of four GPUs. A GPU of 3×3 receives two tiles of each matrix."),
            (768, "Its first tiles of A and B it has from the beginning: they never travel."),
        ),
    ),
    Number(
        name="15.2",
        expected=_ridge_size,
        because="The ridge is at 200 FLOP for each byte, and two GPUs by rows have N/2.",
        hint="Find the ridge, the rate of products over that of the link, and set N/2 equal to it.",
        hints=(
            (200, "That is the ridge, in FLOP for each byte. Which N has so many?"),
            (800, "That is for four GPUs in a square, which have N/4."),
            (100, "Two GPUs have N/2 FLOP for each byte, not 2·N."),
        ),
    ),
    Number(
        name="15.3",
        unit="GB/s",
        expected=lambda: 600e6 / 20e-3 / 1e9,
        because="600 MB in 20 ms. Any faster link gives the same time for the whole.",
        hint="The tiles must be there when the products of the round end.",
        hints=(
            (0.03, "Mind the units: MB over ms are GB over s."),
            (12, "Divide the bytes by the time."),
            (
                Range(above=300),
                "It need not be so fast: the transfer may take as long as the round.",
            ),
        ),
    ),
    Lines(
        name="15.4",
        kernel="tiled:TILE=8",
        place=_ALL_TO_ALL,
        start=_STILL,
        criteria=Criteria(
            (
                Case(
                    False,
                    "C is right, but little is sent: {stored:comma} requests of a block store, and "
                    "32 are needed. Here each GPU reads from all others.",
                    "stored",
                    below=32,
                ),
                Case(True, "each GPU reads from its two neighbours alone."),
            ),
            {"stored": Counted("shared_store_requests", (8, 8, 8), BLOCK)},
        ),
        solution=_CANNON,
    ),
)

PREDICTIONS = (
    Estimate(
        name="several-efficiency",
        unit="%",
        close=0.03,
        found=_recorded(_efficiency),
    ),
    Choice(
        name="several-slow-transfer",
        found=_recorded(_slow_transfer),
    ),
    Estimate(
        name="several-small",
        unit="times as fast",
        close=0.12,
        found=_recorded(_small),
    ),
)
