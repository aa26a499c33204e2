"""Times of kernels without some of their parts, from the records."""

from sgemm_lab import lab
from sgemm_lab.measuring.ablation import PARTS


def test_every_part_is_recorded_and_leaving_parts_out_saves_time() -> None:
    assert all(lab.part(name).us > 0 and lab.part(name).mhz > 1000 for name in PARTS)
    whole, waiting, ready = map(
        lab.part, ("one_group", "one_group.no_copies", "one_group.no_copies_or_reads")
    )
    assert whole.clocks > waiting.clocks > ready.clocks
    assert whole.clocks == whole.us * whole.mhz
