"""The timeline widget, filled with what kernels and a GPU's card measured."""

from sgemm_lab.counting.shared_arrays import shared_shapes
from sgemm_lab.cuda.compiler import compile_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import Launch, limits_of, occupancy
from sgemm_lab.formulas.overlap import Pipeline, report
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.gpu import find_gpu
from sgemm_lab.hardware import FLOAT_BYTES
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.card import Card, measured_card
from sgemm_lab.lab.output import Output, sentence
from sgemm_lab.lab.pictures.multiprocessor import multiprocessor_panel
from sgemm_lab.lab.pictures.pipeline import ring_panel, time_panel
from sgemm_lab.lab.speeds import score_of, speeds
from sgemm_lab.records.gpu_record import Record, Score
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import size_text
from sgemm_lab.widgets import BarrierRing
from sgemm_lab.widgets.timeline import MOST_BLOCKS, TimedKernel, Timeline

DRAWN_WINDOWS = 4
"""Windows that the picture starts with; a launch has many more, all alike."""


def timeline(*names: str | Kernel, size: AnySize = 4096) -> Timeline | Output:
    """Draw when K tiles are loaded and multiplied, with one buffer or several.

    The times come from kernels, as measured at ``size``; the first is shown.

    Raises:
        LabError: a kernel has no K tiles in shared memory.
    """
    size = size_of(size)
    kernels = [kernel_of(name) for name in names]
    if not kernels:
        return Timeline()
    for kernel in kernels:
        _buffers(kernel)
    found = speeds(kernels, [size])
    if found.waiting:
        return sentence(not_yet_measured(found.waiting, f" at {size_text(size)}"))
    return Timeline([timed_kernel(kernel, found.of(kernel.name, size)) for kernel in kernels])


def timed_kernel(kernel: Kernel, score: Score) -> TimedKernel:
    """Return a kernel's times per window, in clocks of an SM, from what was measured.

    With S SMs at f clocks per second, and b blocks at a time on each:

    * latency: of a load that L2 answers, from the card's pointer chase.
    * load: bytes of a window, 4·BK·(BM + BN), over the bytes per clock that L2 gives one SM: the
      card's L2 bandwidth / (S·f).
    * compute: multiply-adds of a window, BM·BN·BK, over the FP32 lanes of an SM.
    * measured: f · seconds · S · b / (blocks · windows), the clocks in which an SM gets b blocks
      one window further. ``seconds`` is the median of the launches measured.

    Raises:
        LabError: the kernel walks no windows, an SM holds more blocks than the timeline draws, or
            the GPU has no card.
    """
    stages = _buffers(kernel)
    tile = Tile.from_constants(kernel.values)
    card = measured_card()
    if score.device.name != card.device.name:
        raise LabError(f"There is no card of {score.gpu}. Take one with 'sgemm-lab record'.")
    clock = 1e6 * score.clock_mhz
    sms, size = score.device.sms, score.size
    m, n, k = size
    grid_x, grid_y = kernel.launch_shape(m, n, k, sms=sms).grid
    windows = grid_x * grid_y * -(-k // tile.bk)
    resident = blocks_per_sm(kernel, size, card.record)
    if resident > MOST_BLOCKS:
        raise LabError(
            f"An SM holds {resident} blocks of '{kernel.name}'. The timeline draws up to "
            f"{MOST_BLOCKS}: take a kernel with a larger tile."
        )
    seconds = 2 * m * n * k / (score.gflops * 1e9)
    return {
        "label": kernel.name,
        "latency": round(card.latency["l2"]),
        "load": round(
            FLOAT_BYTES * tile.bk * (tile.bm + tile.bn) * sms * clock / (card.bandwidth["l2"] * 1e9)
        ),
        "compute": round(tile.bm * tile.bn * tile.bk / _lanes(card)),
        "windows": DRAWN_WINDOWS,
        "stages": stages,
        "blocks": resident,
        "measured": round(clock * seconds * sms * resident / windows),
        "note": f"{score.gpu}, {score.date[:10]}, {size_text(size)}",
    }


def modelled_clocks(times: TimedKernel) -> float:
    """Return the clocks per K tile that the overlap model allows for a kernel of a timeline."""
    return report(
        Pipeline(
            latency=times["latency"],
            load=times["load"],
            compute=times["compute"],
            windows=times["windows"],
            stages=times["stages"],
            blocks=times["blocks"],
        )
    ).pace


def _buffers(kernel: Kernel) -> int:
    """Return how many windows a block keeps in shared memory: the planes of its arrays."""
    shapes = shared_shapes(kernel)
    if not shapes:
        raise LabError(f"The kernel '{kernel.name}' walks no windows through shared memory.")
    return max(shape[0] if len(shape) > 2 else 1 for shape in shapes.values())


def blocks_per_sm(kernel: Kernel, size: Size, record: Record) -> int:
    """Return how many blocks an SM holds: as the GPU counted, else by CUDA's occupancy rule."""
    shape = kernel.launch_shape(*size, sms=record.gpu.sms)
    limits = limits_of(record.gpu.compute_capability)
    counters = record.counted(kernel, size)
    if counters is not None and "occupancy_limit_percent" in counters.values:
        warps = counters.values["occupancy_limit_percent"] / 100 * limits.warps_per_sm
        return round(warps / -(-shape.threads // 32))
    compiled = compile_kernel(kernel, f"sm_{record.gpu.compute_capability.replace('.', '')}")
    shared = compiled.shared_bytes + shape.shared_bytes
    return occupancy(limits, Launch(shape.threads, compiled.registers, shared)).blocks


def _lanes(card: Card) -> int:
    """Return the FP32 lanes of an SM: from the data sheet, else from the measured rate of FMA."""
    if card.sheet is not None:
        return card.sheet.fp32_lanes
    return round(card.fma * 1e3 / (2 * card.device.sms * card.clock_mhz))


def _pipeline(name: str | Kernel, tiles: int, stages: int) -> Pipeline:
    """Return the overlap model of a kernel at 4096³, for so many K tiles and stages."""
    kernel = kernel_of(name)
    times = timed_kernel(kernel, score_of(kernel, size_of(4096)))
    return Pipeline(times["latency"], times["load"], times["compute"], tiles, stages)


def pipeline_times(
    title: str, name: str | Kernel, *, stages: int, clocks: float, says: str = ""
) -> Output:
    """Draw when a block of a kernel loads and multiplies four K tiles, with so many stages.

    ``clocks`` is the length of the axis: the same in two panels makes them comparable.
    """
    return time_panel(title, _pipeline(name, DRAWN_WINDOWS, stages), clocks, says=says)


def stage_ring(
    title: str, name: str | Kernel, *, stages: int, clocks: float, tiles: int = 6, says: str = ""
) -> Output:
    """Draw which stage of a ring is filled and multiplied when, by the overlap model.

    The times of a K tile are those of the kernel; ``clocks`` is the length of the axis.
    """
    return ring_panel(title, _pipeline(name, tiles, stages), clocks, says=says)


def barrier_ring(name: str | Kernel, *, stages: int, tiles: int) -> BarrierRing:
    """Slide through time: which stages producer warps fill, which ones are multiplied.

    The times of a K tile are those of the kernel at 4096³; ``stages`` and ``tiles`` are drawn, the
    kernel may have more.
    """
    kernel = kernel_of(name)
    times = timed_kernel(kernel, score_of(kernel, size_of(4096)))
    return BarrierRing(
        {
            "latency": times["latency"],
            "load": times["load"],
            "compute": times["compute"],
            "windows": tiles,
            "stages": stages,
        },
        note=f"By the overlap model, with the times of a K tile of {kernel.name} "
        f"({times['note']}). The kernel has {times['stages']} stages.",
    )


def sm(title: str, name: str | Kernel, size: AnySize = 4096, *, says: str = "") -> Output:
    """Draw one SM of this machine's GPU, or of the recorded one, with the blocks that it holds."""
    card, kernel, at = measured_card(), kernel_of(name), size_of(size)
    blocks = blocks_per_sm(kernel, at, card.record)
    gpu = find_gpu(card.device.name)
    return multiprocessor_panel(title, gpu, kernel, at, blocks, says=says)
