"""Findings of ``check`` where developers look: SARIF, annotations, a hook, and while they edit."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from sgemm_lab.cli import check_file
from sgemm_lab.cli.main import main

ROOT = Path(__file__).parents[2]
RACE = """
__global__ void shift(const float* x, float* y) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[(threadIdx.x + 64) % 256];
}
__global__ void leaf() {}
__global__ void nested() { leaf<<<1, 1>>>(); }
int main() {
    float *x, *y;
    cudaMalloc(&x, 1024);
    cudaMalloc(&y, 1024);
    shift<<<1, 256>>>(x, y);
}
"""
RIGHT = RACE.replace("    y[", "    __syncthreads();\n    y[")


def log_of(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_the_log_has_all_that_sarif_requires(tmp_path: Path) -> None:
    file = tmp_path / "race.cu"
    file.write_text(RACE)
    assert main(["check", str(file), "--sarif", str(tmp_path / "out" / "log.sarif")]) == 1
    log = log_of(tmp_path / "out" / "log.sarif")
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "sgemm-lab"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    (result,) = run["results"]
    assert result["ruleId"] in rules
    assert result["level"] == "error"
    assert "with no barrier between" in result["message"]["text"]
    places = [*result["locations"], *result["relatedLocations"]]
    lines = [one["physicalLocation"]["region"]["startLine"] for one in places]
    assert lines == [5, 4]
    uris = {one["physicalLocation"]["artifactLocation"]["uri"] for one in places}
    assert uris == {file.as_posix()}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    (missed,) = invocation["toolExecutionNotifications"]
    assert "nested: Line 8" in missed["message"]["text"]


def test_a_file_without_findings_has_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "right.cu").write_text(RIGHT)
    assert main(["check", str(tmp_path / "right.cu"), "--sarif", str(tmp_path / "log")]) == 0
    assert log_of(tmp_path / "log")["runs"][0]["results"] == []


def test_annotations_name_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a,b.cu"
    file.write_text(RACE)
    assert main(["check", str(file), "--annotate"]) == 1
    (line,) = [one for one in capsys.readouterr().out.split("\n") if one.startswith("::")]
    name = file.as_posix().replace(",", "%2C")
    assert line.startswith(f"::error file={name},line=5,title=race::")


def test_several_files_are_checked_though_one_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "right.cu").write_text(RIGHT)
    names = [str(tmp_path / name) for name in ("gone.cu", "right.cu")]
    (tmp_path / "gone.cu").write_text("int main() {}")
    assert main(["check", *names]) == 0
    said = capsys.readouterr()
    assert "gone.cu has no kernel" in said.err
    assert "shift: no fault found" in said.out


def test_the_hook_and_the_action_call_the_command_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "right.cu").write_text(RIGHT)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    command, *call = shlex.split(hook["entry"])
    assert command == "sgemm-lab"
    assert main([*call, str(tmp_path / "right.cu")]) == 0
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    script = action["runs"]["steps"][-1]["run"]
    assert "${{" not in script  # inputs are no part of the script
    call = shlex.split(script[script.index(" check ") :].replace("\\\n", ""))
    values = {
        "${files[@]}": str(tmp_path / "right.cu"), "$SARIF": str(tmp_path / "log"),
        "$FAIL_ON": action["inputs"]["fail-on"]["default"],
    }  # fmt: skip
    assert main([values.get(word, word) for word in call]) == 0
    assert log_of(tmp_path / "log")["runs"]


def test_a_watched_file_is_checked_again_when_it_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(RACE)
    edits = [None, RIGHT, None, "__global__ void broken( {"]

    def sleep(seconds: float) -> None:
        assert seconds == check_file.POLL_SECONDS
        if not edits:
            raise KeyboardInterrupt
        text = edits.pop(0)
        if text is not None:
            before = file.stat().st_mtime_ns
            while file.stat().st_mtime_ns == before:
                file.write_text(text)

    monkeypatch.setattr(check_file, "time", SimpleNamespace(sleep=sleep))
    assert main(["check", str(file), "--watch"]) == 2
    said = capsys.readouterr()
    assert [said.out.count(one) for one in ("shift: wrong", "shift: no fault found")] == [1, 1]
    assert said.err.count("Waiting for a change.") == 3
