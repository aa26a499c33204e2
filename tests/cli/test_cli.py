"""The command: help, text and JSON output, and errors for invalid input."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from record_samples import DEVICE, record, run, samples

from sgemm_lab import files
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking import on_gpu, sandbox
from sgemm_lab.checking.judge import CheckResult
from sgemm_lab.cli import arguments, listing, measure
from sgemm_lab.cli import check as checking
from sgemm_lab.cli.main import COMMANDS, main
from sgemm_lab.cuda import compiler
from sgemm_lab.records.store import RECORDS


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the GPU away where there is one."""
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    measured = (samples("naive", 4e-7, size=64), samples("cublas", 1e-7, size=64))
    RECORDS.save(tmp_path / "nvidia-h200.json", record(run(*measured)))
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must end with status 2, and return its error output."""
    try:
        status: Any = main(arguments)
    except SystemExit as stop:
        status = stop.code
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: sgemm-lab {command}")
    assert "--json" in said


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sgemm_lab", "scoreboard", "--gpu", "nothing"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "sgemm-lab: No record has a GPU whose name contains 'nothing'.\n"


# What it answers.


FEW = ("naive", "tiled", "tiled:TILE=16", "producers")
"""All the kernels of the book take long to compile, and other tests do."""


@pytest.fixture
def few_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "load_kernels", lambda **_: [load_kernel(name) for name in FEW])


@pytest.mark.usefixtures("few_kernels")
def test_kernels_lists_registers_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["kernel"] for row in rows] == [*FEW]
    tiled = rows[FEW.index("tiled")]
    assert {key: tiled[key] for key in ("parent", "chapter", "constants", "target")} == {
        "parent": "naive", "chapter": 2, "constants": {"TILE": 32}, "target": "sm_90",
    }  # fmt: skip
    assert (tiled["spill_bytes"], tiled["shared_bytes"]) == (0, 8192)
    assert tiled["registers"] > 0
    assert main(["kernels"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["kernel", "title", "registers", "spill_bytes", "shared_bytes"]
    assert [line.split()[0] for line in lines] == [*FEW]


def test_scoreboard_json_is_a_list_of_objects(
    capsys: pytest.CaptureFixture[str], records: Path
) -> None:
    assert main(["scoreboard", "--json", "--records", str(records)]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "kernel": "naive", "picked": None, "gpu": "NVIDIA H200", "m": 64, "n": 64, "k": 64,
            "gflops": pytest.approx(2 * 64**3 / 4e-7 / 1e9),
            "cublas_gflops": pytest.approx(2 * 64**3 / 1e-7 / 1e9),
            "error": None, "cublas_error": None, "date": "2026-01-02T03:04:05Z",
            "arithmetic": "fp32", "levels": None,
            # One block of 8 × 64 an SM: 8 SMs work, each at 128 multiply-adds a clock.
            "bound_by": "arithmetic of the busiest SM",
            "bound_gflops": pytest.approx(8 * 128 * 2 * 1.98),
            "library_gflops": pytest.approx(2 * 64**3 / 1e-7 / 1e9),
        }
    ]  # fmt: skip


# What it makes of verdicts and runs. The GPU's part is pretended.

RIGHT = CheckResult("naive", 1, 2, 3, None, None, 0.5)
WRONG = CheckResult("naive", 4, 5, 6, "It is wrong.", None, float("inf"))
REFUSED = CheckResult("naive", 7, 8, 9, None, "Too large.", 0.0)


def checked(monkeypatch: pytest.MonkeyPatch, verdicts: list[CheckResult], *options: str) -> int:
    monkeypatch.setattr(checking, "has_gpu", lambda: True)
    monkeypatch.setattr(arguments, "device_target", lambda: "sm_90")
    monkeypatch.setattr(on_gpu, "check", lambda *_, **__: iter(verdicts))
    sizes = [part for _ in range(3) for part in ("--size", "5")]
    return main(["check", "naive", *sizes, *options])


@pytest.mark.parametrize(
    ("verdicts", "status", "last"),
    [
        ([RIGHT, RIGHT, REFUSED], 0, "2 passed, 0 failed"),
        ([RIGHT, WRONG, RIGHT], 1, "2 passed, 1 failed"),
        ([REFUSED, REFUSED, REFUSED], 2, "0 passed, 0 failed"),
    ],
)
def test_check_ends_with_the_verdict(
    verdicts: list[CheckResult],
    status: int,
    last: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert checked(monkeypatch, verdicts) == status
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == last
    assert ("naive at 4×5×6: It is wrong." in said) == (WRONG in verdicts)


def test_verdicts_are_json_that_any_program_can_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    assert checked(monkeypatch, [RIGHT, WRONG, REFUSED], "--json") == 1
    rows = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert {row["schema"] for row in rows} == {"sgemm-lab.check.1"}
    assert [row["passed"] for row in rows] == [True, False, False]
    assert [row["error"] for row in rows] == [0.5, None, 0.0]
    assert [row["fault"] for row in rows] == [None, "It is wrong.", None]


def test_a_gpu_that_stopped_is_left_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(status: int) -> None:
        raise SystemExit(status)

    monkeypatch.setattr(os, "_exit", left)
    with pytest.raises(SystemExit) as stop:
        checked(monkeypatch, [RIGHT, WRONG])
    assert stop.value.code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"


@pytest.mark.parametrize("complete", [True, False])
def test_record_prints_its_measurements_and_whether_it_is_complete(
    complete: bool,
    records: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = run(
        samples("naive", 1e-3), samples("cublas", 1e-4),
        date="2027-01-01T00:00:00Z", complete=complete,
    )  # fmt: skip
    path = RECORDS.add_run(records, DEVICE, taken)
    (records / "broken.json").write_text("{")
    monkeypatch.setattr(measure, "take_record", lambda *_, **__: (path, taken))
    monkeypatch.setattr(arguments, "device_target", lambda: "sm_90")
    assert main(["record", "naive", "--out", str(records)]) == (0 if complete else 130)
    first, _, line = capsys.readouterr().out.splitlines()
    ended = "complete" if complete else "stopped early"
    assert first == f"Wrote 2 measurements to {path} (run {ended})."
    assert line.split() == ["naive", "NVIDIA", "H200", "100×100×100", "2", "10", "%", "2027-01-01"]


# What it says to bad input.


@pytest.mark.parametrize(
    ("command", "option", "texts", "says"),
    [
        ("check", "size", ["0", "1,2", "1,2,3,4", "a,b,c", "1.5", "", "²"], "is not a size. Write"),
        ("check", "seed", ["-1", "x", "1.5", "²"], "is not a whole number of 0 or more."),
        ("record", "seconds", ["-1", "soon", "nan", "inf"], "is not a time. Write seconds"),
    ],
)
def test_invalid_numbers_are_refused(
    command: str, option: str, texts: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in texts:
        assert f"'{text}' {says}" in refused(capsys, command, f"--{option}={text}")


@pytest.mark.parametrize("command", ["record", "counters", "launch"])
def test_without_a_gpu_there_is_an_error(
    command: str, capsys: pytest.CaptureFixture[str], no_gpu: None
) -> None:
    said = refused(capsys, command)
    assert said.startswith("sgemm-lab: This machine has no NVIDIA GPU that CUDA can use")
    assert said.count("\n") == 1


def test_without_cupy_there_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cupy", "cupy.cuda"):
        monkeypatch.setitem(sys.modules, name, None)
    compiler._machine_code.cache_clear()  # other tests may have compiled the same
    assert "CuPy is not installed" in refused(capsys, "record")
    assert "NVRTC is not installed" in refused(capsys, "kernels", "--target", "sm_86")


@pytest.mark.parametrize("command", ["check", "record", "counters", "launch"])
def test_a_wrong_name_is_reported_before_a_missing_gpu(
    command: str, capsys: pytest.CaptureFixture[str], no_gpu: None
) -> None:
    assert "There is no kernel called 'nosuch'" in refused(capsys, command, "nosuch")


def test_a_gpus_name_cannot_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = replace(DEVICE, name="\x1b[2J\x1b]0;title\x07 H200")
    RECORDS.add_run(tmp_path, evil, run(samples("naive", 1.0), samples("cublas", 1.0)))
    assert main(["scoreboard", "--records", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\x07" not in said.out + said.err
    assert "H200" in said.out


def test_a_broken_pipe_ends_the_command_quietly() -> None:
    line = f"{sys.executable} -m sgemm_lab scoreboard | head -1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.split()[:2] == ["kernel", "GPU"]
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with open("/dev/full", "w") as device:
        done = subprocess.run(
            [sys.executable, "-m", "sgemm_lab", "scoreboard"],
            stdout=device, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "sgemm-lab: The answer cannot be written: No space left on device.\n"


# Kernels and records that are not the book's, or not yet.


def test_records_of_another_machine_are_added(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    RECORDS.add_run(mine, DEVICE, run(date="2027-01-01T00:00:00Z"))
    file = str(records / "nvidia-h200.json")
    for _ in range(2):
        assert main(["add", file, "--out", str(mine)]) == 0
        told = capsys.readouterr()
        assert told.out.startswith(f"{mine / 'nvidia-h200.json'} holds 2 runs.\n")
        assert "Run 'make book'" in told.out
        assert told.err == ""
    assert "There is no record file no.json" in refused(capsys, "add", str(tmp_path / "no.json"))


def test_check_without_a_gpu_simulates_and_says_so(
    capsys: pytest.CaptureFixture[str], no_gpu: None
) -> None:
    assert main(["check", "naive", "--size", "5,6,7"]) == 0
    said = capsys.readouterr()
    assert "naive: right at 1 size." in said.out
    assert "There is no GPU here: the kernels are simulated" in said.err
    wrong = Path(__file__).parents[1] / "wrong_kernels" / "dropped_tail.cu"
    assert main(["check", str(wrong), "--size", "5"]) == 1
    assert "wrong on whole numbers" in capsys.readouterr().out


def test_a_kernel_that_needs_more_than_this_gpu_has_is_left_out_with_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels").mkdir()
    source = load_kernel("naive").source
    (tmp_path / "kernels" / "1_naive.cu").write_text(source)
    newer = source.replace("// chapter: 1", "// chapter: 1\n// needs: sm_80")
    (tmp_path / "kernels" / "2_newer.cu").write_text(newer)
    checked: list[str] = []
    right = CheckResult("naive", 5, 5, 5, None, None, 0.5)
    monkeypatch.setenv("SGEMM_LAB_DATA", str(tmp_path))
    monkeypatch.setattr(checking, "has_gpu", lambda: True)
    monkeypatch.setattr(arguments, "device_target", lambda: "sm_75")
    found = lambda k, *_, **__: iter([checked.append(k.name) or right])  # noqa: E731
    monkeypatch.setattr(on_gpu, "check", found)
    assert main(["check", "--size", "5"]) == 0
    assert checked == ["naive"]
    said = capsys.readouterr().err
    assert said == "newer is left out: it needs sm_80, and this GPU is sm_75.\n"


def test_a_kernel_file_is_checked_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.cu"
    path.write_text(load_kernel("naive").source)
    fault = CheckResult("mine", 5, 5, 5, "It did not end within 20 seconds.", None, float("inf"))
    monkeypatch.setattr(checking, "has_gpu", lambda: True)
    monkeypatch.setattr(arguments, "device_target", lambda: "sm_90")
    monkeypatch.setattr(sandbox, "check_sandboxed", lambda *_, **__: iter([fault]))
    monkeypatch.setattr(on_gpu, "check", lambda *_, **__: iter([RIGHT]))
    assert main(["check", str(path), "naive", "--size", "5"]) == 1
    said = capsys.readouterr().out
    assert "mine at 5×5×5: It did not end within 20 seconds." in said
    assert said.splitlines()[-1] == "1 passed, 1 failed"  # and the next kernel had its turn


def test_new_records_never_go_into_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SHIPPED", tmp_path)
    assert files.own_records() == files.CHECKOUT / "records"
    (tmp_path / "records").mkdir()
    assert files.own_records() == Path("records")


def test_ctrl_c_ends_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "load_records", interrupted)
    assert main(["scoreboard"]) == 130
    assert capsys.readouterr().err == "\nsgemm-lab: stopped.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's children from /proc")
def test_a_command_that_is_told_to_end_ends_its_simulation_too(tmp_path: Path) -> None:
    file = tmp_path / "long.cu"
    file.write_text("__global__ void own(int* y) { for (int i = 0; ; ++i) y[i % 9] += i; }")
    call = [sys.executable, "-m", "sgemm_lab", "check", str(file)]
    called = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{called.pid}/task/{called.pid}/children")
    while not (started := children.read_text().split()):
        time.sleep(0.05)
    called.terminate()
    assert called.wait() == 128 + 15
    assert not Path(f"/proc/{started[0]}").exists()
