"""The workflows: safe by what they say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from sites import ROOT

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
def test_what_make_is_asked_for_is_there(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for _, step in steps(load(name)):
        for asked in re.findall(r"^\s*make (.*)$", step.get("run", ""), re.M):
            assert {one for one in asked.split() if "=" not in one} <= targets


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_allowed_that_a_job_does_not_ask_for(name: str) -> None:
    workflow = load(name)
    assert workflow["permissions"] == {}
    for job, step in steps(workflow):
        writes = "write" in workflow["jobs"][job]["permissions"].values()
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
            assert not writes, f"{job} writes, and runs what it checks out"
