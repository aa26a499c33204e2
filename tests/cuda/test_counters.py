"""What Nsight Compute prints, read; and what is said where it is missing or locked out."""

import sys
from pathlib import Path

import pytest

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.cuda.counters import METRICS, cublas_counters, parse_counters, take_counters
from sgemm_lab.errors import LabError

NAMES = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","dram__bytes_read.sum","l1tex__t_sector_hit_rate.pct",'
    '"launch__registers_per_thread","smsp__inst_executed.sum"'
)
UNITS = '"","","","","","","","","","","","byte","%","register/thread","inst"'
LAUNCHES = (
    '"0","411","python3.12","127.0.0.1","sgemm","1","7","(64, 8, 1)","(4, 32, 1)","0","9.0",'
    '"1,234,567","87.5","40","655,360"',
    '"1","411","python3.12","127.0.0.1","sgemm","1","7","(32, 32, 1)","(8, 8, 1)","0","9.0",'
    '"524288","0","38","1.5e+06"',
)
RAW_PAGE = "\n".join(
    [
        "==PROF== Connected to process 411 (/usr/bin/python3.12)",
        '==PROF== Profiling "sgemm" - 0: 0%....50%....100% - 3 passes',
        "==PROF== Disconnected from process 411",
        NAMES,
        UNITS,
        *LAUNCHES,
    ]
)


def test_a_raw_page_gives_a_row_per_launch() -> None:
    assert parse_counters(RAW_PAGE) == [
        {
            "dram_read_bytes": 1234567,
            "l1_hit_percent": 87.5,
            "registers": 40,
            "warp_instructions": 655360,
        },
        {
            "dram_read_bytes": 524288,
            "l1_hit_percent": 0,
            "registers": 38,
            "warp_instructions": 1500000,
        },
    ]


@pytest.mark.parametrize("missing", ["n/a", "", "(!) nan", "nan", "inf"])
def test_a_counter_that_the_gpu_does_not_have_is_left_out(missing: str) -> None:
    first, _ = parse_counters(RAW_PAGE.replace("87.5", missing))
    assert first == {"dram_read_bytes": 1234567, "registers": 40, "warp_instructions": 655360}


@pytest.mark.parametrize("text", ["", "==ERROR== nothing", NAMES, f"{NAMES}\n{UNITS}"])
def test_a_page_without_launches_gives_no_rows(text: str) -> None:
    assert parse_counters(text) == []


def pretend_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    program = folder / "ncu"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_each_kernel_gets_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_ncu(
        tmp_path, monkeypatch,
        "assert sys.argv[-5:] == ['launch', '--size', '5,6,7', 'naive', 'tiled:TILE=16']\n"
        "assert sys.argv[sys.argv.index('--clock-control') + 1] == 'none'\n"
        f"print({RAW_PAGE!r})",
    )  # fmt: skip
    rows = take_counters([load_kernel("naive"), load_kernel("tiled:TILE=16")], (5, 6, 7))
    assert [row["registers"] for row in rows] == [40, 38]


def test_cublas_is_one_launch_by_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = RAW_PAGE[: RAW_PAGE.rstrip().rindex("\n")]
    pretend_ncu(
        tmp_path, monkeypatch,
        "assert sys.argv[-4:] == ['launch', '--size', '5,6,7', '--cublas']\n"
        "assert sys.argv[sys.argv.index('--kernel-name') + 1] == 'regex:gemm'\n"
        f"print({one!r})",
    )  # fmt: skip
    assert cublas_counters((5, 6, 7))["registers"] == 40


LOCKED = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (f"print({LOCKED!r}); sys.exit(1)", r"did not return counters .+ ERR_NVGPUCTRPERM"),
        (f"print({RAW_PAGE!r})", r"for every kernel\. It gave no reason\."),  # two rows
    ],
)
def test_an_answer_without_a_row_for_each_kernel_is_an_error(
    body: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_ncu(tmp_path, monkeypatch, body)
    with pytest.raises(LabError, match=sentence):
        take_counters([load_kernel("naive")], (5, 6, 7))


def test_missing_ncu_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match=r"Nsight Compute \(ncu\) is not installed"):
        take_counters([load_kernel("naive")], (5, 6, 7))


def test_a_metric_that_ncu_does_not_know_does_not_cost_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = METRICS["l1_data_wavefronts"]
    pretend_ncu(
        tmp_path, monkeypatch,
        "asked = sys.argv[sys.argv.index('--metrics') + 1].split(',')\n"
        f"if {unknown!r} in asked:\n"
        f"    print('==ERROR== Failed to find metric ' + {unknown!r}); sys.exit(1)\n"
        f"print({RAW_PAGE!r})",
    )  # fmt: skip
    assert len(take_counters([load_kernel("naive"), load_kernel("tiled")], (5, 6, 7))) == 2
