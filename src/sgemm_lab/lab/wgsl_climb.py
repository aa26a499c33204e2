"""The ladder in WGSL on the book's GPU, beside the same steps in CUDA."""

from dataclasses import dataclass

from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.models.ladder import ladder
from sgemm_lab.records.webgpu_cards import card_path, load_card
from sgemm_lab.text import number, size_text
from sgemm_lab.wgsl.programs import all_programs, load_program

_HEADS = ["step", "WGSL, GFLOP/s", "CUDA, GFLOP/s"]


@dataclass(frozen=True, repr=False)
class WgslClimb(Output):
    """A table of the steps; its speeds by name, for sentences."""

    speeds: dict[str, float]
    """GFLOP/s in WGSL, of the programs that the book has now."""

    def gflops(self, name: str) -> float:
        """Return the speed of a program in WGSL.

        Raises:
            LabError: this code of it was not measured.
        """
        if name not in self.speeds:
            raise LabError(
                f"'{name}' is not measured in WGSL. A page measures a card; save its file in "
                "records/wgsl."
            )
        return self.speeds[name]

    def factor(self, name: str) -> float:
        """Return how many times as fast a program is as the step before it in WGSL."""
        return self.gflops(name) / self.gflops(load_program(name).parent or name)


def wgsl_climb() -> WgslClimb:
    """Show the speed of every WGSL program and of its CUDA kernel, as the first GPU measured them.

    ``wgsl_climb().gflops("split")`` is the speed of one, for a sentence.

    Raises:
        LabError: no WGSL program was measured.
    """
    gpu = session.book_records()[0].gpu.name
    card = load_card(card_path(data_folder("records"), gpu))
    if card is None:
        raise LabError(f"Nothing in WGSL was recorded on the {gpu}.")
    steps = ladder(session.book_records())
    cuda = {
        one.kernel.name: one.score.gflops for one in steps if one.score and not one.at_smaller_size
    }
    programs = all_programs()
    measured = {one.name: card.gflops(one.name, load_program(one.base_name).fingerprint)
                for one in programs}  # fmt: skip
    wgsl = {name: gflops for name, gflops in measured.items() if gflops}
    rows = [[_title(one), _speed(one, wgsl), _speed(one, cuda)] for one in programs]
    note = (
        f"{gpu} at {size_text((card.size,) * 3)}, in WGSL through Vulkan, {card.date[:10]}. × is "
        "the factor over the row that it builds on. In CUDA blocks and windows may be larger, "
        "and a chapter may compare a kernel with other constants than those of its row."
    )
    shown = table(_HEADS, rows, note=note)
    return WgslClimb(shown.html, shown.text, wgsl)


def _title(step: Kernel) -> str:
    constants = step.name.partition(":")[2]
    return ", ".join([step.title, *filter(None, constants.split(","))])


def _speed(step: Kernel, speeds: dict[str, float]) -> str:
    """Return a speed and how many times that of the step before it is; "–" where there is none."""
    if step.name not in speeds:
        return "–"
    parent = step.base_name if ":" in step.name else step.parent
    before = speeds.get(parent or "")
    factor = f" ×{speeds[step.name] / before:.2f}" if before else ""
    return number(speeds[step.name]) + factor
