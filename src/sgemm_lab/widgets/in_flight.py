"""Little's law: bytes that arrive per clock, by how many are on their way and for how long."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.sentences import sentence
from sgemm_lab.style import LEVEL_COLOURS
from sgemm_lab.text import number
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import checked_items, checked_number, checked_text

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
        LabError: the data are not what they should be; the message says where.
    """

    sources: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    threads = traitlets.Int(THREADS[-1]).tag(sync=True)
    bytes = traitlets.Int(BYTES[0]).tag(sync=True)
    thread_choices = traitlets.List(traitlets.Int(), list(THREADS)).tag(sync=True)
    byte_choices = traitlets.List(traitlets.Int(), list(BYTES)).tag(sync=True)

    def __init__(self, sources: Sequence[Source], **state: Any) -> None:
        super().__init__(sources=_checked(sources), **state)

    @traitlets.validate("threads")
    def _check_threads(self, proposal: Any) -> int:
        return _among("threads", proposal["value"], THREADS)

    @traitlets.validate("bytes")
    def _check_bytes(self, proposal: Any) -> int:
        return _among("bytes", proposal["value"], BYTES)

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


def _checked(sources: Sequence[Source]) -> list[dict[str, Any]]:
    found = []
    for source in checked_items(list(sources), "sources"):
        name = checked_text(source, "name", "A source")
        if source.get("id") not in LEVEL_COLOURS:
            raise LabError(f"{name} has id {source.get('id')!r}: {', '.join(LEVEL_COLOURS)}.")
        numbers = {key: checked_number(source, key, name) for key in ("latency", "most")}
        found.append({"id": source["id"], "name": name, **numbers})
    if not found:
        raise LabError("Name at least one level of memory.")
    return found


def _among(name: str, value: int, choices: Sequence[int]) -> int:
    if value not in choices:
        raise LabError(f"{name} is {value}: choose one of {', '.join(map(str, choices))}.")
    return value
