"""Widgets of the book: alive with a kernel and without one."""

from sgemm_lab.widgets.banks import Banks
from sgemm_lab.widgets.base import WIDGET_MIME, LabWidget
from sgemm_lab.widgets.coalescing import Coalescing
from sgemm_lab.widgets.intensity import Intensity
from sgemm_lab.widgets.roofline import Roofline
from sgemm_lab.widgets.steps import Steps

__all__ = ["WIDGET_MIME", "Banks", "Coalescing", "Intensity", "LabWidget", "Roofline", "Steps"]
