"""The occupancy calculator: how many blocks an SM holds at once, and what decides it."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import traitlets

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.occupancy import (
    LIMITS,
    REGISTERS_PER_SM,
    Fit,
    Launch,
    Limits,
    Resource,
    fit_words,
    occupancy,
    refusal,
)
from sgemm_lab.text import plural
from sgemm_lab.widgets.base import LabWidget, html_table
from sgemm_lab.widgets.data import ChoosesGpu, checked_choice, checked_items, checked_text

NAMES: dict[Resource, str] = {
    "blocks": "Block slots",
    "warps": "Warp slots",
    "registers": "Registers",
    "shared": "Shared memory",
}


class Sm(TypedDict):
    """A GPU to choose; its limits follow from its compute capability."""

    id: str
    name: str
    compute_capability: str  # such as "8.0", one of sgemm_lab.formulas.occupancy.LIMITS


class Preset(TypedDict):
    """A kernel to start from."""

    name: str
    threads: int  # per block
    registers: Mapping[str, int]  # per thread, by compute capability; absent where it cannot run
    shared: NotRequired[int]  # bytes per block, static and dynamic; default 0


class Occupancy(ChoosesGpu, LabWidget):
    """Sliders over what a block takes, and how many blocks an SM holds at once.

    Args:
        gpus: the GPUs to choose from, see :class:`Sm`.
        gpu: id of the GPU to begin with. Default: the first.
        threads: threads per block.
        registers: registers per thread.
        shared: bytes of shared memory per block, static and dynamic together.
        kernels: kernels that the reader can start from, see :class:`Preset`.
        kernel: name of the kernel that the three numbers are of, or "".

    ``gpu``, ``threads``, ``registers``, ``shared`` and ``kernel`` are state that the reader changes
    and Python can read or set. A launch that cannot run is a state like others: the widget says
    what stands in its way.

    Raises:
        LabError: the data are not what they should be; the message says where.
    """

    gpus: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    gpu = traitlets.Unicode().tag(sync=True)
    threads = traitlets.Int(256).tag(sync=True)
    registers = traitlets.Int(32).tag(sync=True)
    shared = traitlets.Int(0).tag(sync=True)
    kernels: "traitlets.List[dict[str, Any]]" = traitlets.List().tag(sync=True)
    kernel = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        gpus: Sequence[Sm],
        *,
        gpu: str | None = None,
        threads: int = 256,
        registers: int = 32,
        shared: int = 0,
        kernels: Sequence[Preset] = (),
        kernel: str = "",
        **kwargs: Any,
    ) -> None:
        choices = _checked_gpus(gpus)
        super().__init__(
            gpus=choices,
            gpu=checked_choice(gpu or choices[0]["id"], choices),
            threads=threads,
            registers=registers,
            shared=shared,
            kernels=_checked_kernels(kernels),
            kernel=kernel,
            **kwargs,
        )

    @traitlets.validate("gpus")
    def _check_gpus(self, proposal: Any) -> list[dict[str, Any]]:
        return _checked_gpus(proposal["value"])

    @traitlets.validate("threads")
    def _check_threads(self, proposal: Any) -> int:
        return _unless(refusal(self.limits, Launch(proposal["value"], 1, 0)), proposal["value"])

    @traitlets.validate("registers")
    def _check_registers(self, proposal: Any) -> int:
        return _unless(refusal(self.limits, Launch(1, proposal["value"], 0)), proposal["value"])

    @traitlets.validate("shared")
    def _check_shared(self, proposal: Any) -> int:
        # What is too much for one GPU may fit another of the choice.
        largest = max(self.gpus, key=lambda entry: int(entry["shared_per_block"]))
        limits = LIMITS[largest["compute_capability"]]
        return _unless(refusal(limits, Launch(1, 1, proposal["value"])), proposal["value"])

    @traitlets.validate("kernels")
    def _check_kernels(self, proposal: Any) -> list[dict[str, Any]]:
        return _checked_kernels(proposal["value"])

    @traitlets.validate("kernel")
    def _check_kernel(self, proposal: Any) -> str:
        names = [entry["name"] for entry in self.kernels]
        if proposal["value"] not in ("", *names):
            listed = ", ".join(names) or "none"
            raise LabError(
                f"There is no kernel '{proposal['value']}' to start from, only {listed}."
            )
        return str(proposal["value"])

    @property
    def limits(self) -> Limits:
        """What an SM of the chosen GPU has."""
        return LIMITS[self._chosen["compute_capability"]]

    @property
    def launch(self) -> Launch:
        """What a block takes."""
        return Launch(self.threads, self.registers, self.shared)

    @property
    def fit(self) -> Fit:
        """What fits on an SM.

        Raises:
            LabError: the launch cannot run.
        """
        return occupancy(self.limits, self.launch)

    @property
    def words(self) -> list[str]:
        """What fits, what decides and whether lanes idle: a sentence each."""
        return fit_words(self.limits, self.launch)

    @property
    def alt(self) -> str:
        """What fits, and what decides."""
        block = f"{self._chosen['name']}, blocks of {plural(self.threads, 'thread')}"
        takes = f"{plural(self.registers, 'register')} a thread, {self.shared:,} bytes shared"
        return f"{block}, {takes}. {' '.join(self.words)}"

    def table(self) -> str:
        """Return what a block takes, what an SM has and how many blocks fit, as an HTML table."""
        rows = [
            [NAMES[name], f"{takes:,}", f"{has:,}", "no limit" if room is None else f"{room}"]
            for name, takes, has, room in _rows(self.limits, self.launch)
        ]
        heads = ["Resource", "A block takes", "An SM has", "Room for blocks"]
        return html_table(" ".join(self.words), heads, rows)

    @property
    def _chosen(self) -> dict[str, Any]:
        return next(entry for entry in self.gpus if entry["id"] == self.gpu)


def _unless(sentence: str, value: int) -> int:
    if sentence:
        raise LabError(sentence)
    return value


def _checked_gpus(gpus: object) -> list[dict[str, Any]]:
    """Return GPUs with the limits that follow from their compute capability."""
    found = []
    for gpu in checked_items(gpus, "gpus"):
        id_ = checked_text(gpu, "id", "A GPU")
        capability = gpu.get("compute_capability")
        if capability not in LIMITS:
            raise LabError(
                f"GPU '{id_}' has compute capability {capability!r}. "
                f"The limits of {', '.join(LIMITS)} are known."
            )
        limits = LIMITS[capability]
        found.append(
            {
                "id": id_,
                "name": str(gpu.get("name") or id_),
                "compute_capability": capability,
                "blocks_per_sm": limits.blocks_per_sm,
                "warps_per_sm": limits.warps_per_sm,
                "shared_per_sm": limits.shared_per_sm,
                "shared_per_block": limits.shared_per_block,
                "shared_reserved": limits.shared_reserved,
                "shared_unit": limits.shared_unit,
            }
        )
    if not found:
        raise LabError("The occupancy calculator needs at least one GPU: give gpus=[…].")
    return found


def _checked_kernels(kernels: object) -> list[dict[str, Any]]:
    found = []
    for kernel in checked_items(kernels, "kernels"):
        name = checked_text(kernel, "name", "A kernel")
        registers, numbers = kernel.get("registers"), [kernel.get("threads"), kernel.get("shared")]
        if not isinstance(registers, Mapping) or not registers:
            raise LabError(
                f"The kernel '{name}' must give registers by compute capability, "
                'such as {"9.0": 32}.'
            )
        if any(not isinstance(number, int) for number in (*registers.values(), numbers[0])):
            raise LabError(f"The kernel '{name}' must give threads and registers as whole numbers.")
        found.append(
            {
                "name": name,
                "threads": numbers[0],
                "registers": dict(registers),
                "shared": numbers[1] or 0,
            }
        )
    return found


def _rows(limits: Limits, launch: Launch) -> list[tuple[Resource, int, int, int | None]]:
    """Return name, what a block takes, what an SM has, and the blocks that there is room for."""
    none: dict[Resource, int | None] = dict.fromkeys(NAMES, 0)
    room = none if refusal(limits, launch) else occupancy(limits, launch).room
    takes = {
        "blocks": 1,
        "warps": launch.warps,
        "registers": launch.warps * launch.warp_registers,
        "shared": launch.shared_taken(limits),
    }
    has = {
        "blocks": limits.blocks_per_sm,
        "warps": limits.warps_per_sm,
        "registers": REGISTERS_PER_SM,
        "shared": limits.shared_per_sm,
    }
    return [(name, takes[name], has[name], room[name]) for name in NAMES]
