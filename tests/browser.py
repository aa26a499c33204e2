"""Find a Chromium for the tests, or get one. Run as a script, it makes sure that there is one."""

import os
import shutil
import subprocess
import sys

from sgemm_lab.book.browser import FLAGS, find

__all__ = ["FLAGS", "find"]


def install() -> None:
    """Get Playwright's own Chromium; where that fails, the system's package."""
    print("No Chromium found. Asking Playwright for one.", flush=True)
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if find() is None and shutil.which("apt-get"):
        print("Playwright had none to give. Asking the system's package manager.", flush=True)
        prefix = [] if os.geteuid() == 0 else ["sudo"]
        subprocess.run([*prefix, "apt-get", "update"], check=False)
        for package in ("chromium-headless-shell", "chromium"):
            if find() is None:
                subprocess.run([*prefix, "apt-get", "install", "-y", package], check=False)


def main() -> int:
    if find() is None:
        install()
    program = find()
    if program is None:
        print(
            "The tests read the book in a browser, and none could be installed. Install Chromium "
            "or Chrome, or name its program in SGEMM_LAB_BROWSER.",
            file=sys.stderr,
        )
        return 1
    print(f"Browser for the tests: {program}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
