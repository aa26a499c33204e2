"""How much a finding weighs: an error, or something that would happen with an assumed launch.

What a file does not say about its launch is assumed. A finding that another launch would not show
is no fault of the kernel.
"""

from typing import Literal

from sgemm_lab.external_cuda.arguments import called
from sgemm_lab.external_cuda.launch import Prepared
from sgemm_lab.simulator import Hazard
from sgemm_lab.simulator.hazards import (
    BARRIER,
    IN_FLIGHT,
    MISALIGNED,
    OUT_OF_BOUNDS,
    RACE,
    UNWRITTEN,
)

Severity = Literal["error", "warning", "information"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information")
"""From the gravest on."""

_OF_THE_BLOCK = frozenset({RACE, IN_FLIGHT, BARRIER})
"""Kinds that follow from how the threads of one block share memory."""


_OF_SHARED_ARRAYS = frozenset({OUT_OF_BOUNDS, MISALIGNED, UNWRITTEN})
"""Kinds that follow in shared memory from the launch and the numbers that the kernel is given."""


def of_the_block(hazard: Hazard, prepared: Prepared) -> bool:
    """Return whether a hazard follows from how the threads of one block share memory.

    With values of a template that were assumed, that is not known.
    """
    return hazard.kind in _OF_THE_BLOCK and not (
        _in_global_memory(hazard, prepared) or prepared.opened.template_assumed
    )


def _in_global_memory(hazard: Hazard, prepared: Prepared) -> bool:
    return hazard.array in {
        *(called(one) for one in prepared.given),
        *(variable.name for variable in prepared.variables),
    }


def severity_of(hazard: Hazard, prepared: Prepared) -> Severity:
    """Return "warning" for a hazard that rests on what was assumed, else "error".

    Races in shared memory and missed barriers are errors with any launch. Accesses outside an
    array, unwritten elements and races between blocks depend on grid and sizes.
    """
    in_shared = hazard.array is not None and not _in_global_memory(hazard, prepared)
    told = prepared.numbers_told and in_shared and hazard.kind in _OF_SHARED_ARRAYS
    certain = prepared.certain or told or of_the_block(hazard, prepared)
    return "error" if certain else "warning"
