"""How the build talks with the processes that run pages: through files, not through ports.

A port is looked up before the process that is to have it takes it. Of several that start at once,
two may be given the same port: the second ends, and the build waits for its answer without end.
Names of files are taken by who makes them.
"""

import os
import shutil
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

PROVISIONER = "sgemm-lab-files"
"""The name under which ``pyproject.toml`` makes the class known to Jupyter."""


def give_no_ports() -> None:
    """Let every kernel that this process starts be spoken to through files, where a system can.

    Where the package was installed before Jupyter could learn of the class, ports remain.
    """
    known = entry_points(group="jupyter_client.kernel_provisioners").names
    if os.name == "posix" and PROVISIONER in known:
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = PROVISIONER


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

    async def cleanup(self, restart: bool = False) -> None:
        """Remove the folder once the kernel does not start again."""
        await super().cleanup(restart)
        if self._folder is not None and not restart:
            shutil.rmtree(self._folder, ignore_errors=True)
