"""The ladder of memories: what the microbenchmarks of each card found."""

from sgemm_lab.lab import session
from sgemm_lab.lab.card import Card, measured_card
from sgemm_lab.widgets import MemoryLadder
from sgemm_lab.widgets.memory_ladder import Memory


def memory_ladder() -> MemoryLadder:
    """Show the latency and bandwidth of each level of memory, on this GPU and the recorded ones.

    Raises:
        LabError: no record has microbenchmarks.
    """
    first = measured_card()
    cards = [Card(r) for r in session.book_records() if r.readings("latency.global")]
    others = [card for card in cards if card.record is not first.record]
    return MemoryLadder([_memory(card) for card in (first, *others)])


def _memory(card: Card) -> Memory:
    yours = any(card.record is record for record in session.here())
    return {
        "id": "here" if yours else card.device.name,
        "name": f"{card.device.name}, yours" if yours else card.device.name,
        "note": card.note,
        "sms": card.device.sms,
        "clock_mhz": card.clock_mhz,
        "fma_gflops": card.fma,
        "latency": card.latency,
        "bandwidth": card.bandwidth,
    }
