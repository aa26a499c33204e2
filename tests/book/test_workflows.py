"""The workflows: safe by what they say, and whole in a dry run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sites import Site

import dry_run
from sgemm_lab import __version__
from sgemm_lab.book.repository import NOTEBOOKS_BRANCH, Repository

NAMES = sorted(path.name for path in dry_run.WORKFLOWS.glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def triggers(workflow: dict[Any, Any]) -> set[str]:
    return set(workflow[True])  # YAML takes "on" for a yes


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_hash_and_say_their_version(name: str) -> None:
    text = (dry_run.WORKFLOWS / name).read_text(encoding="utf-8")
    for line in re.findall(r"uses: (.+)", text):
        action, _, version = line.partition(" # ")
        if action.startswith("./"):
            continue
        assert PINNED.fullmatch(action), action
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), line


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_allowed_that_a_job_does_not_ask_for(name: str) -> None:
    workflow = dry_run.load(name)
    assert workflow["permissions"] == {}
    for job, step in dry_run.steps(workflow):
        writes = "write" in workflow["jobs"][job]["permissions"].values()
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
            assert not writes, f"{job} writes, and runs what it checks out"


@pytest.mark.parametrize("name", NAMES)
def test_a_change_is_tested_once(name: str) -> None:
    assert not {"push", "pull_request"} <= triggers(dry_run.load(name))


def test_publishing_waits_for_the_tests() -> None:
    jobs = dry_run.load("publish.yml")["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/test.yml"
    assert jobs["build"]["needs"] == "test"
    assert {jobs[name]["needs"] for name in ("pages", "notebooks")} == {"build"}
    assert "workflow_call" in triggers(dry_run.load("test.yml"))


def test_the_steps_run_as_written(book: Site, tmp_path: Path) -> None:
    run = dry_run.DryRun(tmp_path)
    run.publish()
    packed = subprocess.run(
        ["tar", "-tf", tmp_path / dry_run.ARTIFACT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"./index.html", "./404.html", "./llms.txt"} <= {*packed}
    git = ["git", "-C", str(run.repository)]
    branch = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", NOTEBOOKS_BRANCH],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert branch == sorted(path.name for path in (book.folder / "notebooks").glob("*.ipynb"))
    address = Repository("github.com", dry_run.REPOSITORY).colab_address(branch[0])
    assert address is not None
    assert address.endswith(f"{dry_run.REPOSITORY}/blob/{NOTEBOOKS_BRANCH}/{branch[0]}")
    log = subprocess.run([*git, "log", "--all"], capture_output=True, text=True, check=True).stdout
    assert dry_run.TOKEN not in log


def test_a_release_has_the_number_of_its_tag_and_waits_for_the_tests() -> None:
    workflow = dry_run.load("release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    assert workflow["jobs"]["build"]["needs"] == "test"
    commands = [step["run"] for _, step in dry_run.steps(workflow) if "run" in step]
    (check,) = (line for line in commands[1].splitlines() if line.startswith("test "))
    for tag, right in ((f"v{__version__}", True), ("v0.0.0", False)):
        here = check.replace(".venv/bin/sgemm-lab", f"{sys.executable} -m sgemm_lab")
        done = subprocess.run(["sh", "-c", here], env={**os.environ, "GITHUB_REF_NAME": tag})
        assert (done.returncode == 0) is right
