"""Process groups: all GPUs in this process, or one GPU per process, joined by NCCL.

In a notebook one process drives all GPUs. Under ``mpirun``, or with a rendezvous file, each process
drives one, on this or other hosts. Plans and engine do not depend on it.
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
"""Time limit of NCCL's initialization, which takes less than three seconds."""
ABORT_SECONDS = 5.0
"""Time limit of an abort of NCCL; after that this process continues without it."""
POLL_SECONDS = 0.02
NOT_READY = 600
"""cudaErrorNotReady (CUDA Runtime API, cudaError): a stream has pending work."""

_BLOCK_LIMIT = "NCCL_MAX_CTAS"
_SETTINGS = {"NCCL_NVLS_ENABLE": "0"}
"""NVLink multicast stays off, because tiles are sent point to point."""

_limits_in_use: list[str | None] = []

Found = TypeVar("Found")

Id = bytes
"""NCCL's unique id: 128 bytes, the same for all ranks."""


class NotInTimeError(LabError):
    """A GPU or a rank did not answer in time."""


def set_block_limit(blocks: int | None) -> None:
    """Limit the number of NCCL's blocks per transfer, which NCCL reads once per process.

    Raises:
        LabError: this process has a communicator with another limit.
    """
    limit = None if blocks is None else str(blocks)
    if _limits_in_use and _limits_in_use[0] != limit:
        raise LabError(
            "NCCL reads its block limit once, before its first communicator, and this process has "
            f"made one with {_limits_in_use[0] or 'none'}. Start a new process, or restart the "
            "kernel of the notebook."
        )
    if limit is None:
        os.environ.pop(_BLOCK_LIMIT, None)
    else:
        os.environ[_BLOCK_LIMIT] = limit


@dataclass
class ProcessGroup:
    """The GPUs of a plan, numbered as in the plan."""

    gpus: int
    devices: dict[int, int]
    """Device number in this process, by GPU of the plan that this process drives."""
    communicators: dict[int, Any]
    """NCCL's communicator of each of these GPUs; empty for copies within one process."""
    seconds: float = JOIN_SECONDS
    """Time limit of waits for other processes."""

    @property
    def is_whole(self) -> bool:
        """Whether this process drives all GPUs."""
        return len(self.devices) == self.gpus

    def largest(self, value: float) -> float:
        """Return the maximum of a value over all processes; also a barrier."""
        if self.is_whole:
            return value
        return self.collective(lambda: self._largest(value))

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

    def collective(self, action: Callable[[], Found]) -> Found:
        """Run a collective operation with a time limit, since NCCL hangs if a process has died.

        Raises:
            NotInTimeError: it did not finish in time; NCCL is aborted.
        """
        if self.is_whole:
            return action()
        try:
            return in_time(action, 2 * self.seconds, _late(self.seconds))
        except NotInTimeError:
            self.abort()
            raise

    def wait(self, streams: list[Any], seconds: float) -> None:
        """Wait until streams have finished.

        Raises:
            NotInTimeError: they did not finish within ``seconds``; NCCL is aborted.
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
        """Abort all operations of NCCL."""
        for communicator in self.communicators.values():
            with suppress(NotInTimeError):
                in_time(communicator.abort, ABORT_SECONDS, "")
        self.communicators.clear()

    def close(self) -> None:
        """Destroy the communicators. CUDA graphs with their transfers must be freed first."""
        for communicator in self.communicators.values():
            communicator.destroy()
        self.communicators.clear()


def single_process(gpus: int, *, nccl: bool = True, seconds: float = JOIN_SECONDS) -> ProcessGroup:
    """Return a process group of one process that drives all GPUs.

    Raises:
        LabError: there are fewer GPUs, NCCL is missing, or its initialization takes too long.
    """
    check_count(gpus)
    devices = {gpu: gpu for gpu in range(gpus)}
    if not nccl or gpus == 1:
        return ProcessGroup(gpus, devices, {})
    return ProcessGroup(gpus, devices, _joined(devices, gpus, _new_id(), seconds), seconds)


def join_by_mpi(seconds: float = JOIN_SECONDS) -> ProcessGroup:
    """Join a process group under ``mpirun``, one GPU per rank.

    Raises:
        LabError: mpi4py is missing, there is no GPU, or NCCL's initialization takes too long.
    """
    try:
        from mpi4py import MPI
    except ImportError:
        raise MissingToolError(
            "mpirun needs mpi4py, which is not installed. Install it with 'pip install mpi4py', "
            "or use a rendezvous file: --meet FILE --rank R --ranks N."
        ) from None
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    on_this_host = world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    devices = {rank: on_this_host % gpu_count()}
    found = world.bcast(_new_id() if rank == 0 else None, root=0)
    return ProcessGroup(ranks, devices, _joined(devices, ranks, found, seconds), seconds)


def join_by_file(path: Path, rank: int, ranks: int, seconds: float = JOIN_SECONDS) -> ProcessGroup:
    """Join a process group by a file on a shared file system.

    Rank 0 writes the file, and removes it after all ranks have joined. Rank r uses GPU r modulo the
    number of GPUs of its host.

    Raises:
        LabError: the file exists already, or is not written in time, or NCCL's initialization takes
            too long.
    """
    if not 0 <= rank < ranks:
        raise LabError(f"Rank {rank} of {ranks} is invalid. Ranks are counted from 0.")
    devices = {rank: rank % gpu_count()}
    if rank == 0:
        if path.exists():
            raise LabError(f"{path} exists already. Remove it, or choose another file.")
        write_whole(path, json.dumps(list(_new_id())))
    try:
        found = read_id(path, seconds)
        return ProcessGroup(ranks, devices, _joined(devices, ranks, found, seconds), seconds)
    finally:
        if rank == 0:
            path.unlink(missing_ok=True)


def read_id(path: Path, seconds: float) -> Id:
    """Wait for a file and read NCCL's id from it.

    Raises:
        NotInTimeError: the file was not written in time.
        LabError: the file does not hold an id.
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
            f"{path} is not a rendezvous file. Remove it and start all ranks again."
        ) from None


def in_time(action: Callable[[], Found], seconds: float, message: str) -> Found:
    """Run an action that may hang in a thread, with a time limit.

    Returns:
        The action's result.

    Raises:
        NotInTimeError: with ``message``, if it has not finished; the thread is abandoned.
        Exception: raised by the action.
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
        raise NotInTimeError(message)
    if faults:
        raise faults[0]
    return found[0]


def _late(seconds: float) -> str:
    return (
        f"The GPUs did not finish in {seconds:g} seconds. A rank may have died, or a GPU may be "
        "busy. The run is aborted; start all ranks again."
    )


def nccl_library() -> Any:
    """Set NCCL's environment variables and return CuPy's NCCL.

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
    """Create the communicator of a GPU; blocks until all GPUs have joined."""
    try:
        return nccl.NcclCommunicator(gpus, found, gpu)
    except TypeError:  # CuPy 13 wants numbers
        signed = tuple(number - 256 * (number > 127) for number in found)
        return nccl.NcclCommunicator(gpus, signed, gpu)


def _joined(devices: dict[int, int], gpus: int, found: Id, seconds: float) -> dict[int, Any]:
    """Return a communicator for each GPU of this process; each joins in a separate thread."""
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
        f"NCCL did not connect {plural(gpus, 'GPU')} in {seconds:g} seconds. Check that all ranks "
        "were started, each with a different number.",
    )
    if faults:
        raise LabError(
            f"NCCL could not connect the GPUs: {faults[0]}. NCCL_DEBUG=WARN in the environment "
            "prints details."
        )
    return communicators
