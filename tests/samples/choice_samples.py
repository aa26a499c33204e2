"""A GPU with three candidates and round costs, for the tests of the choice of a kernel."""

from sgemm_lab.widgets.kernel_choice import Candidate, FittedGpu


def _candidate(label: str, kernel: str, tile: int, work: float, most: list[int]) -> Candidate:
    """A tiled kernel: 10 µs for each launch, and ``work`` for each K tile of the busiest SM."""
    costs = [1e-5, 0.0, 0.0, work, 0.0, 0.0, 0.0, 0.0]
    return Candidate(
        name=f"{kernel}:BM={tile},BN={tile}" if kernel == "thread_tile" else kernel,
        label=label,
        kernel=kernel,
        values={"BM": tile, "BN": tile, "BK": 8},
        resident=1,
        clusters=0,
        most=most,
        aligned=costs,
        other=[2 * cost for cost in costs],
    )


FITTED = [
    FittedGpu(
        id="h200",
        name="H200",
        sms=132,
        candidates=[
            _candidate("small", "thread_tile", 64, 1e-7, []),
            _candidate("smaller", "thread_tile", 32, 0.5e-7, []),
            _candidate("large", "double_buffer", 128, 3e-7, []),
            _candidate("split", "split", 128, 4e-7, [256, 16384, 16384]),
        ],
    )
]
