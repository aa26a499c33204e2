"""Widgets of the book: alive with a kernel and without one."""

from sgemm_lab.widgets.banks import Banks
from sgemm_lab.widgets.base import WIDGET_MIME, LabWidget
from sgemm_lab.widgets.coalescing import Coalescing
from sgemm_lab.widgets.intensity import Intensity
from sgemm_lab.widgets.ladder import Ladder
from sgemm_lab.widgets.memory_ladder import MemoryLadder
from sgemm_lab.widgets.occupancy import Occupancy
from sgemm_lab.widgets.roofline import Roofline
from sgemm_lab.widgets.steps import Steps
from sgemm_lab.widgets.timeline import Timeline

__all__ = [
    "WIDGET_MIME",
    "Banks",
    "Coalescing",
    "Intensity",
    "LabWidget",
    "Ladder",
    "MemoryLadder",
    "Occupancy",
    "Roofline",
    "Steps",
    "Timeline",
]
