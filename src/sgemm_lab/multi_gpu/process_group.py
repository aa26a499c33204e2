"""Who takes part: all GPUs in this process, or one per process, joined by NCCL.

In a notebook one process drives all GPUs. Under ``mpirun``, or with a file as meeting place, each
process drives one, on this host or on others; the plan and all that runs it stay the same.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sgemm_lab.cuda.launch import require_gpu
from sgemm_lab.errors import LabError, MissingToolError
from sgemm_lab.files import write_whole
from sgemm_lab.multi_gpu.topology import check_count, gpu_count
from sgemm_lab.text import plural

JOIN_SECONDS = 60.0
"""How long NCCL may take to bring all GPUs together; it takes less than three."""
ABORT_SECONDS = 5.0
"""How long NCCL may take to give up; after that this process goes on without it."""
POLL_SECONDS = 0.02
NOT_READY = 600
"""cudaErrorNotReady (CUDA Runtime API, cudaError): a stream still works."""

_BLOCK_LIMIT = "NCCL_MAX_CTAS"
_SETTINGS = {"NCCL_NVLS_ENABLE": "0"}
"""Multicast within the switch stays off: tiles go from one GPU to one other."""

_limits_in_use: list[str | None] = []

Found = TypeVar("Found")

Id = bytes
"""What tells NCCL's groups apart: 128 bytes, the same for all who join."""


class NotInTimeError(LabError):
    """A GPU or a rank did not answer in time."""


def set_block_limit(blocks: int | None) -> None:
    """Say how many blocks NCCL may take for a transfer; it reads that once per process.

    Raises:
        LabError: this process has made a communicator with another limit.
    """
    wanted = None if blocks is None else str(blocks)
    if _limits_in_use and _limits_in_use[0] != wanted:
        raise LabError(
            "NCCL reads its block limit once, before its first communicator, and this process has "
            f"made one with {_limits_in_use[0] or 'none'}. Start a new process, or restart the "
            "kernel of the notebook."
        )
    if wanted is None:
        os.environ.pop(_BLOCK_LIMIT, None)
    else:
        os.environ[_BLOCK_LIMIT] = wanted


@dataclass
class Team:
    """The GPUs of a plan, by their numbers in it."""

    gpus: int
    devices: dict[int, int]
    """Those that this process drives, with their numbers in this process."""
    communicators: dict[int, Any]
    """NCCL's, for each of them; none where one process copies."""
    seconds: float = JOIN_SECONDS
    """How long a process waits for the others."""

    @property
    def is_whole(self) -> bool:
        """Whether this process drives all GPUs."""
        return len(self.devices) == self.gpus

    def largest(self, value: float) -> float:
        """Return the largest of the values that the processes give; so it is a barrier too."""
        if self.is_whole:
            return value
        return self.with_others(lambda: self._largest(value))

    def _largest(self, value: float) -> float:
        cupy, nccl = require_gpu(), nccl_library()
        (gpu, device), *_ = self.devices.items()
        with cupy.cuda.Device(device):
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                held = cupy.full(1, value, "float64")
            self.communicators[gpu].allReduce(
                held.data.ptr, held.data.ptr, 1, nccl.NCCL_FLOAT64, nccl.NCCL_MAX, stream.ptr
            )
            self.wait([stream], self.seconds)
            return float(held.get()[0])

    def with_others(self, action: Callable[[], Found]) -> Found:
        """Do what needs the other processes. NCCL does not come back where one has died.

        Raises:
            NotInTimeError: it has not ended in time. What NCCL was doing is given up.
        """
        if self.is_whole:
            return action()
        try:
            return in_time(action, 2 * self.seconds, _late(self.seconds))
        except NotInTimeError:
            self.abort()
            raise

    def wait(self, streams: list[Any], seconds: float) -> None:
        """Wait until streams have done all they were given.

        Raises:
            NotInTimeError: they have not in so many seconds. What NCCL was doing is given up.
            LabError: a GPU failed.
        """
        query = require_gpu().cuda.runtime.streamQuery
        end = time.perf_counter() + seconds
        for stream in streams:
            while (status := query(stream.ptr)) == NOT_READY:
                if time.perf_counter() > end:
                    self.abort()
                    raise NotInTimeError(_late(seconds))
            if status:
                self.abort()
                raise LabError(
                    f"GPU {stream.device_id} failed (CUDA error {status}). Start all ranks again."
                )

    def abort(self) -> None:
        """Give up what NCCL is doing, so that nobody waits for it."""
        for communicator in self.communicators.values():
            with suppress(NotInTimeError):
                in_time(communicator.abort, ABORT_SECONDS, "")
        self.communicators.clear()

    def close(self) -> None:
        """Let NCCL go. CUDA graphs that hold its transfers must be gone before."""
        for communicator in self.communicators.values():
            communicator.destroy()
        self.communicators.clear()


def alone(gpus: int, *, nccl: bool = True, seconds: float = JOIN_SECONDS) -> Team:
    """Return the team of one process that drives so many GPUs.

    Raises:
        LabError: there are fewer, or NCCL is missing or does not bring them together in time.
    """
    check_count(gpus)
    devices = {gpu: gpu for gpu in range(gpus)}
    if not nccl or gpus == 1:
        return Team(gpus, devices, {})
    return Team(gpus, devices, _joined(devices, gpus, _new_id(), seconds), seconds)


def by_mpi(seconds: float = JOIN_SECONDS) -> Team:
    """Return this process's team under ``mpirun``, one GPU per rank.

    Raises:
        LabError: mpi4py is missing, there is no GPU, or NCCL does not bring all together in time.
    """
    try:
        from mpi4py import MPI
    except ImportError:
        raise MissingToolError(
            "mpirun was used, and mpi4py is not installed. Install it with 'pip install mpi4py', "
            "or let the ranks meet by a file: --meet FILE --rank R --ranks N."
        ) from None
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    on_this_host = world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    devices = {rank: on_this_host % gpu_count()}
    found = world.bcast(_new_id() if rank == 0 else None, root=0)
    return Team(ranks, devices, _joined(devices, ranks, found, seconds), seconds)


def by_file(path: Path, rank: int, ranks: int, seconds: float = JOIN_SECONDS) -> Team:
    """Return this process's team, whose ranks meet by a file that all of them see.

    Rank 0 writes it, and removes it when all have come. Rank r takes GPU r of its host, counted
    around.

    Raises:
        LabError: the file is there already, nobody writes it in time, or NCCL does not bring all
            together.
    """
    if not 0 <= rank < ranks:
        raise LabError(f"There is no rank {rank} among {ranks}: they are counted from 0.")
    devices = {rank: rank % gpu_count()}
    if rank == 0:
        if path.exists():
            raise LabError(f"{path} is there already: remove it, or let the ranks meet elsewhere.")
        write_whole(path, json.dumps(list(_new_id())))
    try:
        found = read_id(path, seconds)
        return Team(ranks, devices, _joined(devices, ranks, found, seconds), seconds)
    finally:
        if rank == 0:
            path.unlink(missing_ok=True)


def read_id(path: Path, seconds: float) -> Id:
    """Return NCCL's id out of a file, once it is there.

    Raises:
        NotInTimeError: nobody wrote it.
    """
    end = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > end:
            raise NotInTimeError(f"Rank 0 did not write {path} in {seconds:g} seconds.")
        time.sleep(POLL_SECONDS)
    try:
        return bytes(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, OSError):
        raise LabError(
            f"{path} is no meeting place. Remove it and start all ranks again."
        ) from None


def in_time(action: Callable[[], Found], seconds: float, words: str) -> Found:
    """Do something that may never end, and go on without it when the time is up.

    Returns:
        What the action returned.

    Raises:
        NotInTimeError: it has not ended; ``words`` say what to do.
        Exception: what the action raised.
    """
    found: list[Found] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            found.append(action())
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise NotInTimeError(words)
    if faults:
        raise faults[0]
    return found[0]


def _late(seconds: float) -> str:
    return (
        f"The GPUs were not done in {seconds:g} seconds. Has a rank died, or is a GPU busy? What "
        "was running is given up; start all ranks again."
    )


def nccl_library() -> Any:
    """Return CuPy's NCCL, once its settings are made.

    Raises:
        MissingToolError: it is not installed.
    """
    require_gpu()
    os.environ.update(_SETTINGS)
    from cupy.cuda import nccl

    if not nccl.available:
        raise MissingToolError(
            "CuPy finds no NCCL. Install it with 'pip install nvidia-nccl-cu12' (CUDA 12) or "
            "'nvidia-nccl-cu13' (CUDA 13), or copy without it: --transport copy."
        )
    return nccl


def _new_id() -> Id:
    found = nccl_library().get_unique_id()
    return bytes(number % 256 for number in found)  # CuPy 13 gives numbers from -128 to 127


def _communicator(nccl: Any, gpus: int, found: Id, gpu: int) -> Any:
    """Join as one GPU of several; comes back when all have joined."""
    try:
        return nccl.NcclCommunicator(gpus, found, gpu)
    except TypeError:  # CuPy 13 wants numbers
        signed = tuple(number - 256 * (number > 127) for number in found)
        return nccl.NcclCommunicator(gpus, signed, gpu)


def _joined(devices: dict[int, int], gpus: int, found: Id, seconds: float) -> dict[int, Any]:
    """Return a communicator for each GPU of this process: each joins in a thread of its own."""
    cupy, nccl = require_gpu(), nccl_library()
    _limits_in_use.append(os.environ.get(_BLOCK_LIMIT))
    communicators: dict[int, Any] = {}
    faults: list[Exception] = []

    def join(gpu: int, device: int) -> None:
        try:
            with cupy.cuda.Device(device):
                communicators[gpu] = _communicator(nccl, gpus, found, gpu)
        except Exception as fault:
            faults.append(fault)

    def all_join() -> None:
        threads = [
            threading.Thread(target=join, args=item, daemon=True) for item in devices.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    in_time(
        all_join,
        seconds,
        f"NCCL did not bring {plural(gpus, 'GPU')} together in {seconds:g} seconds. Were all ranks "
        "started, each with another number?",
    )
    if faults:
        raise LabError(
            f"NCCL could not bring the GPUs together: {faults[0]}. NCCL_DEBUG=WARN in the "
            "environment makes it say more."
        )
    return communicators
