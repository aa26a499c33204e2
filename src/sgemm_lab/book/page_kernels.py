"""The processes that run pages: how they start, and how the build talks with them.

Files instead of ports: a port is looked up before the process that is to have it takes it. Of
several that start at once, two may be given the same port: the second ends, and the build waits
for its answer without end. Names of files are taken by who makes them.

Forks instead of new processes, on Linux: a kernel has the modules that the build has imported.
"""

import asyncio
import multiprocessing
import os
import shutil
import sys
import tempfile
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

PROVISIONER = "sgemm-lab-files"
"""The name under which ``pyproject.toml`` makes the class known to Jupyter."""


def prepare() -> None:
    """Let every kernel that this process starts be spoken to through files, where a system can.

    What a kernel would import when it starts is imported here, once for all forks.

    Where the package was installed before Jupyter could learn of the class, ports remain.
    """
    known = entry_points(group="jupyter_client.kernel_provisioners").names
    if os.name == "posix" and PROVISIONER in known:
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = PROVISIONER
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no word about missed breakpoints
        import_module("ipykernel.debugger")


class FileProvisioner(LocalProvisioner):
    """Starts a Jupyter kernel on this machine with its sockets in a private folder."""

    _folder: Path | None = None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Choose where the sockets are, before the kernel starts."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="kernel-"))
            manager: Any = self.parent
            manager.transport = "ipc"
            manager.connection_file = str(self._folder / "connection.json")
            manager.ip = str(self._folder / "socket")
        return await super().pre_launch(**kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Fork this process where the command starts IPython's kernel with this interpreter."""
        if sys.platform != "linux" or cmd[:3] != [sys.executable, "-m", "ipykernel_launcher"]:
            return await super().launch_kernel(cmd, **kwargs)
        process: Any = ForkedKernel(cmd[3:], kwargs["env"], kwargs.get("cwd"))
        self.process, self.pid, self.pgid = process, process.pid, process.pid
        return self.connection_info

    async def cleanup(self, restart: bool = False) -> None:
        """Remove the folder once the kernel does not start again."""
        await super().cleanup(restart)
        if self._folder is not None and not restart:
            shutil.rmtree(self._folder, ignore_errors=True)


class ForkedKernel:
    """A kernel in a fork, with the part of ``subprocess.Popen`` that a provisioner uses."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], env: dict[str, str], cwd: str | None) -> None:
        arguments = [*arguments, f"--IPKernelApp.parent_handle={os.getpid()}"]
        self._process = multiprocessing.get_context("fork").Process(
            target=_run_kernel, args=(arguments, env, cwd)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, or None while the kernel runs."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Return the exit status once the kernel has ended."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel alone, where its group is not made yet."""
        os.kill(self.pid, number)


def _run_kernel(arguments: list[str], env: dict[str, str], cwd: str | None) -> None:
    os.setsid()  # signals for the kernel's group reach what it has started, and no one else
    os.environ.clear()
    os.environ.update(env)
    if cwd:
        os.chdir(cwd)
    asyncio.set_event_loop(asyncio.new_event_loop())  # the build's is in use by the build
    IPKernelApp.launch_instance(arguments)
