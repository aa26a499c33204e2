"""The exercises of chapter 1, memory hierarchy."""

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.exercises.criteria import always, no_more, per_turn
from sgemm_lab.exercises.lines import Lines
from sgemm_lab.exercises.model import Choice, Estimate, Number
from sgemm_lab.exercises.quantities import sectors_per_turn, times_as_fast, times_as_fast_as_at

_SIZE = (64, 64, 64)

_GUARDED = always("no thread reads or writes outside A, B and C, at any size tried.")

_COALESCED = no_more(
    per_turn("global_load_sectors", _SIZE),
    "naive",
    "C is right, but a warp touches {made:number} sectors in a turn of its loop; "
    "{enough:number} are enough. Let its lanes take neighbouring columns first.",
    "a warp touches {made:number} sectors in a turn of its loop, as few as in `naive`.",
)


EXERCISES = (
    Choice(
        name="1.1",
        found=times_as_fast_as_at("naive_rows", (4095, 4097, 4093), (4096, 4096, 4096)),
    ),
    Number(
        name="1.2",
        unit="sectors",
        expected=lambda: sectors_per_turn(load_kernel("naive:BM=16,BN=16"), _SIZE),
        because="Two rows of A are 2 sectors, 16 neighbours in a row of B are 2 more; counted.",
        hint="Count the sectors of A and of B apart: 32 bytes each, moved whole.",
        hints=(
            (5, "So many touches a warp of one row. Here it has two rows of 16 columns."),
            (3, "A warp has two rows now, and the rows of A lie far apart."),
            (6, "Both rows of the warp read the same 16 floats of B."),
            (2, "That is B alone, or A alone."),
        ),
    ),
    Lines(
        name="1.3",
        kernel="naive",
        place="    if (row >= M || col >= N) return;  // the last blocks reach past the edge of C",
        start="    if (row >= M && col >= N) return;",
        criteria=_GUARDED,
        solution="    if (row >= M || col >= N) return;",
    ),
    Lines(
        name="1.4",
        kernel="naive_rows",
        place="""\
    const int row = blockIdx.y * BM + threadIdx.x;
    const int col = blockIdx.x * BN + threadIdx.y;""",
        start="""\
    const int row = blockIdx.y * BM + threadIdx.x;
    const int col = blockIdx.x * BN + threadIdx.y;""",
        criteria=_COALESCED,
        solution="""\
    const int id = threadIdx.y * BM + threadIdx.x;
    const int row = blockIdx.y * BM + id / BN;
    const int col = blockIdx.x * BN + id % BN;""",
    ),
    Choice(
        name="1.5",
        found=times_as_fast("naive", "naive_rows", (1, 4096, 4096)),
    ),
)

PREDICTIONS = (
    Estimate(
        name="naive-gain",
        unit="times as fast",
        close=0.15,
        found=times_as_fast("naive", "naive_rows", (4096, 4096, 4096)),
        hints=(
            (33 / 5, "That is what the sectors predict, and a good guess. Read on for the rest."),
            (
                33 / 2,
                "That is what the banks predict, if both kernels reached their limits. Read on.",
            ),
        ),
    ),
)
