"""Widgets of the book: alive with a kernel and without one. Each is one line here."""

from sgemm_lab.widgets.banks import Banks as Banks
from sgemm_lab.widgets.barrier_ring import BarrierRing as BarrierRing
from sgemm_lab.widgets.base import WIDGET_MIME as WIDGET_MIME
from sgemm_lab.widgets.base import LabWidget as LabWidget
from sgemm_lab.widgets.coalescing import Coalescing as Coalescing
from sgemm_lab.widgets.frames import Frames as Frames
from sgemm_lab.widgets.gpu_tiles import GpuTiles as GpuTiles
from sgemm_lab.widgets.kernel_choice import KernelChoice as KernelChoice
from sgemm_lab.widgets.ladder import Ladder as Ladder
from sgemm_lab.widgets.latency_hiding import LatencyHiding as LatencyHiding
from sgemm_lab.widgets.occupancy import Occupancy as Occupancy
from sgemm_lab.widgets.roofline import Roofline as Roofline
from sgemm_lab.widgets.scoreboard import Scoreboard as Scoreboard
from sgemm_lab.widgets.steps import Steps as Steps
from sgemm_lab.widgets.tile_waves import TileWaves as TileWaves
from sgemm_lab.widgets.timeline import Timeline as Timeline
