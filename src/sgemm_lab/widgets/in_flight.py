"""Little's law: bytes that arrive per clock, by how many are on their way and for how long."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table

THREADS = (32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1792, 2048)
BYTES = (4, 8, 16, 32, 64)


class Source(TypedDict):
    """A level of memory as one SM sees it."""

    id: str  # "l1", "l2" or "dram"
    name: str
    latency: float  # clocks
    most: float  # bytes per clock that it can give one SM


class InFlight(LabWidget):
    """How much must be on its way to hide a latency.

    Args:
        sources: the levels, see :class:`Source`; the last one is told about.
        threads: threads on an SM, to begin with.
        bytes: bytes on their way for each thread, to begin with.

    Raises:
        LabError: a setting is out of its range.
    """

    sources: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    threads = traitlets.Enum(THREADS, THREADS[-1]).tag(sync=True)
    bytes = traitlets.Enum(BYTES, BYTES[0]).tag(sync=True)
    thread_choices = traitlets.List(traitlets.Int(), list(THREADS)).tag(sync=True)
    byte_choices = traitlets.List(traitlets.Int(), list(BYTES)).tag(sync=True)

    def __init__(self, sources: Sequence[Source], **state: Any) -> None:
        super().__init__(sources=list(sources), **state)

    def arrives(self, source: Mapping[str, Any]) -> float:
        """Return the bytes per clock that latency leaves: bytes on their way over the latency."""
        return float(self.threads * self.bytes / source["latency"])

    @property
    def words(self) -> str:
        """What the last level gives, and what holds it back."""
        source = self.sources[-1]
        arrives = self.arrives(source)
        return sentence(
            "flight.short" if arrives < source["most"] else "flight.enough",
            threads=self.threads,
            each=self.bytes,
            way=self.threads * self.bytes,
            latency=source["latency"],
            arrives=arrives,
            name=source["name"],
            most=source["most"],
            share=arrives / source["most"],
        )

    @property
    def alt(self) -> str:
        """What arrives from the last level, and what holds it back."""
        return self.words

    def table(self) -> str:
        """Return what arrives from each level as an HTML table."""
        rows = [
            [
                source["name"],
                number(source["latency"]),
                number(self.arrives(source)),
                number(source["most"]),
            ]
            for source in self.sources
        ]
        heads = ["Level", "Latency in clocks", "Bytes per clock by latency", "At most"]
        way = f"{self.threads * self.bytes:,} bytes on their way to an SM"
        return html_table(way, heads, rows)
