"""Run the steps of the workflow that publishes, as they are written, in a clean copy.

``python tests/dry_run.py`` says what it runs. What needs GitHub or the network is played: an
artifact is a file, GitHub's repository is a folder, and ``make book`` puts the book that is built
here into the copy (``--build`` runs it instead). Only what is committed is in the copy.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
SITE = Path("_build/html")
ARTIFACT = "artifact.tar"
TOKEN, REPOSITORY = "a-token-of-github", "someone/the-book"
OF_THE_NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "NODE_EXTRA_CA_CERTS"),
)
"""Variables by which a machine behind a proxy reaches others. No step's result depends on them."""
_TAKEN_FROM_HERE = f"""\
#!/bin/sh
set -e
/usr/bin/env -i PATH=/usr/bin:/bin make --dry-run "$@" | grep --quiet "sgemm_lab.book.build"
mkdir -p {SITE.parent}
cp -r "{ROOT / SITE}" {SITE}
"""
"""Stands for ``make``: asks the real one whether it would build a book, and takes the one here."""


def load(name: str) -> dict[Any, Any]:
    """Return a workflow, by the name of its file."""
    workflow: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return workflow


def steps(workflow: dict[Any, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each step of a workflow with the name of its job."""
    for job, content in workflow["jobs"].items():
        for step in content.get("steps", []):
            yield job, step


@dataclass
class DryRun:
    """Folders that stand for what GitHub has.

    Args:
        folder: an empty one, for all of them.
        build: whether ``make book`` is run, and not played.
    """

    folder: Path
    build: bool = False

    @property
    def repository(self) -> Path:
        """The repository to which the workflow pushes."""
        return self.folder / "github.git"

    def publish(self) -> None:
        """Run all jobs of the workflow, each in a folder of its own."""
        subprocess.run(["git", "init", "--quiet", "--bare", self.repository], check=True)
        (self.folder / "home").mkdir()
        self._write_stub()
        for job, step in steps(load("publish.yml")):
            self._step(self.folder / job, step)

    def _step(self, place: Path, step: dict[str, Any]) -> None:
        place.mkdir(exist_ok=True)
        action = step.get("uses", "").partition("@")[0]
        artifact = self.folder / ARTIFACT
        if "run" in step:
            print(f"[{place.name}] runs:\n{step['run'].rstrip()}", flush=True)
            self._run(place, step)
        elif action == "actions/checkout":
            subprocess.run(["git", "clone", "--quiet", ROOT, place], check=True)
        elif action == "actions/upload-pages-artifact":
            pack = ["tar", "--dereference", "--exclude=.[^/]*", "-cf", artifact, "."]
            subprocess.run(pack, cwd=place / step["with"]["path"], check=True)
        elif action == "actions/download-artifact":
            shutil.copy(artifact, place)
        else:
            print(f"[{place.name}] left out: {action}", flush=True)

    def _run(self, place: Path, step: dict[str, Any]) -> None:
        there = f"https://x-access-token:{TOKEN}@github.com/{REPOSITORY}.git"
        environment = {
            **{name: os.environ[name] for name in OF_THE_NETWORK if name in os.environ},
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SHA": "0" * 40,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.repository.as_uri()}.insteadOf",
            "GIT_CONFIG_VALUE_0": there,
        }
        if not self.build:
            environment["PATH"] = f"{self.folder / 'stubs'}:{environment['PATH']}"
        for name, value in step.get("env", {}).items():
            environment[name] = value.replace("${{ github.token }}", TOKEN)
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        subprocess.run(shell, cwd=place, env=environment, check=True)

    def _write_stub(self) -> None:
        stub = self.folder / "stubs" / "make"
        stub.parent.mkdir()
        stub.write_text(_TAKEN_FROM_HERE, encoding="utf-8")
        stub.chmod(0o755)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true", help="run make book; it needs the network")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = DryRun(Path(folder), chosen.build)
        run.publish()
        print("On the branch notebooks:")
        listed = ["git", "-C", str(run.repository), "ls-tree", "--name-only", "notebooks"]
        return subprocess.run(listed, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
