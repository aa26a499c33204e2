"""The workflows: safe by what they say."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from sites import ROOT

from sgemm_lab import __version__

WORKFLOWS = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in WORKFLOWS.glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def load(name: str) -> dict[Any, Any]:
    """Return a workflow, by the name of its file."""
    workflow: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return workflow


def steps(workflow: dict[Any, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each step of a workflow with the name of its job."""
    for job, content in workflow["jobs"].items():
        for step in content.get("steps", []):
            yield job, step


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_hash_and_say_their_version(name: str) -> None:
    text = (WORKFLOWS / name).read_text(encoding="utf-8")
    for line in re.findall(r"uses: (.+)", text):
        action, _, version = line.partition(" # ")
        if action.startswith("./"):
            continue
        assert PINNED.fullmatch(action), action
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), line


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_allowed_that_a_job_does_not_ask_for(name: str) -> None:
    workflow = load(name)
    assert workflow["permissions"] == {}
    for job, step in steps(workflow):
        writes = "write" in workflow["jobs"][job]["permissions"].values()
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
            assert not writes, f"{job} writes, and runs what it checks out"


def test_a_release_has_the_number_of_its_tag_and_waits_for_the_tests() -> None:
    workflow = load("release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    assert workflow["jobs"]["build"]["needs"] == "test"
    commands = [step["run"] for _, step in steps(workflow) if "run" in step]
    (check,) = (line for line in commands[1].splitlines() if line.startswith("test "))
    for tag, right in ((f"v{__version__}", True), ("v0.0.0", False)):
        here = check.replace(".venv/bin/sgemm-lab", f"{sys.executable} -m sgemm_lab")
        done = subprocess.run(["sh", "-c", here], env={**os.environ, "GITHUB_REF_NAME": tag})
        assert (done.returncode == 0) is right
