"""What the check by simulation finds in kernels of the book that are broken on purpose."""

import re

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.simulated import check_simulated
from sgemm_lab.kernel import parse_kernel


def test_two_barriers_of_the_grid_on_the_same_counters_race() -> None:
    kernel = load_kernel("wgmma_3xfp16")
    former, changed = re.subn(r"gridSync\(workspace \+ \d\)", "gridSync(workspace)", kernel.source)
    assert changed == 3
    (right,) = check_simulated(kernel, [(65, 130, 33)], only_whole_numbers=True)
    assert right.fault is None
    (wrong,) = check_simulated(
        parse_kernel(kernel.name, former), [(65, 130, 33)], only_whole_numbers=True
    )
    assert wrong.fault is not None
    assert "workspace" in wrong.fault
