"""The timeline widget, filled with what kernels and a GPU's card measured."""

from dataclasses import asdict, replace

from sgemm_lab.counting.shared_arrays import shared_shapes
from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.hardware import BANKS, FLOAT_BYTES
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.card import measured_card
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.pictures.ring import ring_panel
from sgemm_lab.simulator.formulas import Pipeline
from sgemm_lab.widgets import BarrierRing
from sgemm_lab.widgets.timeline import Timeline

DRAWN_WINDOWS = 3
"""K tiles that a picture draws; a launch has many more, all alike."""


def timeline(name: str | Kernel, **settings: int) -> Timeline:
    """Draw when a block's K tiles are loaded, stored and multiplied, with one buffer or two.

    A store takes the bytes of a K tile, 4·BK·(BM + BN), over those of all banks per clock.

    Args:
        settings: what shall differ from the kernel, such as ``stages``.

    Raises:
        LabError: the kernel has no K tiles in shared memory, or the GPU has no card.
    """
    pipeline = pipeline_of(kernel_of(name))
    tile = Tile.from_constants(kernel_of(name).values)
    store = tile.bk * (tile.bm + tile.bn) // BANKS
    return Timeline(**{**asdict(pipeline), "store": store, **settings})


def pipeline_of(kernel: Kernel) -> Pipeline:
    """Return a kernel's times per K tile, in clocks of an SM that holds one of its blocks.

    The rates are those of this machine's GPU or the recorded one, with S SMs at f clocks per
    second:

    * latency: of a load that L2 answers, from the card's pointer chase.
    * load: bytes of a K tile, 4·BK·(BM + BN), over the bytes per clock that L2 gives one SM: the
      card's L2 bandwidth / (S·f).
    * compute: multiply-adds of a K tile, BM·BN·BK, over the FP32 lanes of an SM.
    """
    stages = _buffers(kernel)
    tile = Tile.from_constants(kernel.values)
    card = measured_card()
    per_clock = card.bandwidth["l2"] * 1e9 / (card.device.sms * 1e6 * card.clock_mhz)
    return Pipeline(
        latency=round(card.latency["l2"]),
        load=round(FLOAT_BYTES * tile.bk * (tile.bm + tile.bn) / per_clock),
        compute=round(tile.bm * tile.bn * tile.bk / card.lanes),
        windows=DRAWN_WINDOWS,
        stages=stages,
    )


def _buffers(kernel: Kernel) -> int:
    """Return how many K tiles a block keeps in shared memory: the planes of its arrays."""
    shapes = shared_shapes(kernel)
    if not shapes:
        raise LabError(f"The kernel '{kernel.name}' has no K tiles in shared memory.")
    return max(shape[0] if len(shape) > 2 else 1 for shape in shapes.values())


def stage_ring(title: str, name: str | Kernel, *, tile: int) -> Output:
    """Draw what each stage of a kernel holds when the product of a K tile begins, as a ring.

    By the overlap model of one block, with the kernel's own stages. ``tile`` counts from 0.
    """
    found = pipeline_of(kernel_of(name))
    pipeline = replace(found, windows=tile + found.stages + 1)
    return ring_panel(title, pipeline, tile)


def barrier_ring(name: str | Kernel, *, stages: int, tiles: int) -> BarrierRing:
    """Step through time: which stages producer warps fill, which ones are multiplied.

    The times of a K tile are those of the kernel at 4096³; ``stages`` and ``tiles`` are drawn, the
    kernel may have more.
    """
    found = pipeline_of(kernel_of(name))
    return BarrierRing(
        {
            "latency": found.latency,
            "load": found.load,
            "compute": found.compute,
            "windows": tiles,
            "stages": stages,
        },
    )
