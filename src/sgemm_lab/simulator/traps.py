"""Instructions at which a launch ends with an error."""

from typing import TYPE_CHECKING

from sgemm_lab.errors import LabError
from sgemm_lab.simulator.operations import Match, Operations, Step
from sgemm_lab.simulator.ptx import Instruction
from sgemm_lab.simulator.registers import Mask
from sgemm_lab.simulator.sentences import sentence

if TYPE_CHECKING:
    from sgemm_lab.simulator.group import ThreadGroup


class TrapError(LabError):
    """A thread came to an instruction that ends the launch. The message says where."""


def _trap(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    def step(mask: Mask | None) -> None:
        raise TrapError(sentence("run.trap", place=instruction.location))

    return step


def _too_deep(group: "ThreadGroup", instruction: Instruction, match: Match) -> Step:
    def step(mask: Mask | None) -> None:
        raise TrapError(sentence("run.recursion", deepest=match["deepest"]))

    return step


OPERATIONS: Operations = [(r"trap", _trap), (r"trap\.depth(?P<deepest>\d+)", _too_deep)]
