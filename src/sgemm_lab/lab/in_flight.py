"""Little's law by the latencies and bandwidths of the measured card."""

from sgemm_lab.lab.card import newest_card
from sgemm_lab.widgets import InFlight
from sgemm_lab.widgets.in_flight import Source


def in_flight() -> InFlight:
    """Slide the threads of an SM and the bytes in flight (Little's law), and see what arrives.

    Latencies and bandwidths are those of the recorded card.

    Raises:
        LabError: no record has the microbenchmarks.
    """
    first = newest_card()
    per_clock = first.device.sms * first.clock_mhz / 1e3  # clocks of all SMs, in 10⁹ a second
    names = {"l1": "L1", "l2": "L2", "dram": "DRAM"}
    return InFlight(
        [
            Source(
                id=level,
                name=name,
                latency=first.latency[level],
                most=first.bandwidth[level] / per_clock,
            )
            for level, name in names.items()
        ]
    )
