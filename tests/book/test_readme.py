"""The ladder in the README: made from the records, and current."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from ladder_samples import MEASURED, WITHOUT_A_BOUND
from record_samples import record, run, samples

from sgemm_lab.book import readme
from sgemm_lab.book.readme import BEGIN, END, PICTURE, main, picture, table, with_table
from sgemm_lab.errors import LabError
from sgemm_lab.kernel import load_kernels
from sgemm_lab.models.ladder import ladder
from sgemm_lab.records.store import load_records, not_yet_measured
from sgemm_lab.text import tenths_percent

ROOT = Path(__file__).parents[2]
SMALL = record(
    run(
        samples("tiled", 4.0, size=4096),
        samples("naive", 8.0, size=4096),
        samples("naive", 1.0, size=8192),
        samples("tiled:TILE=16", 5.0, size=4096),
        samples("cublas", 1.0, size=4096),
        samples("cublas", 1.0, size=8192),
        samples("strip", 0.2, size=512),
        samples("strip", 0.1, size=256),
        samples("cublas", 0.1, size=512),
        samples("cublas", 0.1, size=256),
    )
)


def test_the_ladder_of_the_readme_is_current() -> None:
    assert list(readme.stale_files(ROOT)) == [], "Older than the records. Run 'make readme'."


def quoted(chapter: str) -> set[str]:
    """The kernels of which sentences of a chapter quote a number."""
    names = {kernel.name for kernel in load_kernels(variants=True)}
    values = re.findall(r"\{value\}(`+)(?!`)(.+?)(?<!`)\1(?!`)", chapter, re.DOTALL)
    return {name for _, value in values for name in re.findall(r'"([^"]+)"', value)} & names


def test_kernels_of_which_sentences_quote_numbers_are_recorded() -> None:
    """A kernel that nobody quotes may wait for its record."""
    chapters = [path.read_text(encoding="utf-8") for path in (ROOT / "chapters").glob("*.md")]
    names = set().union(*map(quoted, chapters))
    assert names >= {"naive", "tiled", "by_column", "ahead"}
    assert names <= MEASURED, f"Run 'sgemm-lab record {' '.join(names - MEASURED)}' on a GPU."
    assert quoted('{value}`lab.speed("tiled")`; {value}``lab.of("no", "split")``; "ahead"') == {
        "tiled",
        "split",
    }


def test_a_kernel_that_is_not_yet_measured_has_a_row_and_a_sentence() -> None:
    text = table(ladder([SMALL]))
    assert (
        "| [`padded`](kernels/150_padded.cu) | Padded A | 6 | not yet measured |  | | | |"
    ) in text.splitlines()
    waiting = [k.name for k in load_kernels(variants=True)
               if k.name not in ("naive", "tiled", "tiled:TILE=16", "strip")]  # fmt: skip
    assert not_yet_measured(waiting) in text
    assert "Padded" not in picture(ladder([SMALL]))


def test_what_was_measured_of_other_code_is_no_step() -> None:
    edited = samples("naive", 1.0, size=64, fingerprint="ab")
    other = record(
        run(edited, samples("tiled", 1.0, size=64), samples("cublas", 1.0, size=64)),
    )
    assert [step.kernel.name for step in ladder([other]) if step.score] == ["tiled"]


def test_steps_come_in_the_books_order_at_4096_or_the_largest_square_below() -> None:
    assert [(s.kernel.name, s.score.m) for s in ladder([SMALL]) if s.score] == [
        ("naive", 4096), ("tiled", 4096), ("tiled:TILE=16", 4096), ("strip", 512),
    ]  # fmt: skip


def test_the_table_has_speed_share_and_origin() -> None:
    lines = table(ladder([SMALL])).splitlines()
    flop = 2 * 4096**3
    tiled = "[`tiled`](kernels/030_tiled.cu)"
    starts = (
        f"| {tiled} | Tiled | 2 | {flop / 4e9:,.0f} | 25 % | shared memory | ",
        f"| {tiled} | Tiled, TILE=16 | 2 | {flop / 5e9:,.0f} | 20 % | shared memory | ",
        "| [`strip`](kernels/040_strip.cu) | Tiled, all of K at once (at 512³) | 2 | 1 | 50 % | ",
    )
    for start in starts:
        assert any(line.startswith(start) for line in lines), start
    assert f"| cuBLAS | | | {flop / 1e9:,.0f} | 100 % | | | |" in lines
    assert "*At most* is what the unit" in lines[-1]
    assert lines[-1].startswith(
        "M = N = K = 4096, medians. Measured on NVIDIA H200, 2026-01-02: driver 580.1, CUDA 13.0, "
        "NVRTC 12.9, SM clock 1,900 to 1,980 MHz; cuBLAS as cublasSgemm, in the same run."
    )


def test_the_table_has_the_bound_of_what_was_measured_as_it_is() -> None:
    steps = {step.kernel.name: step for step in ladder(load_records()) if step.score}
    bound = steps["tiled"].bound
    assert bound is not None
    share = steps["tiled"].score.gflops / bound.gflops
    wanted = f"| {bound.unit} | {bound.gflops:,.0f} | {tenths_percent(share)} |"
    lines = table(list(steps.values())).splitlines()
    assert next(line for line in lines if "[`tiled`]" in line).endswith(wanted)
    bounds = {name: step.bound for name, step in steps.items()}
    without = {name.partition(":")[0] for name, bound in bounds.items() if bound is None}
    assert without == WITHOUT_A_BOUND
    assert all(steps[name].score.gflops <= bound.gflops for name, bound in bounds.items() if bound)


def test_files_that_the_table_links_are_there() -> None:
    links = re.findall(r"\]\((kernels/[^)]+)\)", (ROOT / "README.md").read_text())
    assert links
    assert all((ROOT / link).is_file() for link in links)


def test_the_picture_is_svg_on_opaque_white_with_a_bar_per_kernel() -> None:
    root = ET.fromstring(picture(ladder([SMALL])))
    space = "{http://www.w3.org/2000/svg}"
    ground = next(root.iter(f"{space}rect"))
    box = [ground.get(name) for name in ("x", "y", "width", "height")]
    assert " ".join(filter(None, box)) == root.get("viewBox")
    assert ground.get("fill") == "#ffffff"
    said = [node.text for node in root.iter(f"{space}text")]
    assert {"12.5 %", "25 %", "50 %", "Tiled", "cuBLAS"} <= set(said)
    assert not any(text and "TILE=16" in text for text in said)
    assert root.get("width")


def test_the_table_stands_between_the_markers_and_nothing_else_moves() -> None:
    text = f"# Title\n\n{BEGIN}\nold\n{END}\n\nEnd.\n"
    assert with_table(text, "new") == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nEnd.\n"
    assert with_table(with_table(text, "x"), "new") == with_table(text, "new")


@pytest.mark.parametrize("text", ["", BEGIN, f"{END} {BEGIN}"])
def test_missing_markers_are_a_sentence(text: str) -> None:
    with pytest.raises(LabError, match=r"README\.md has no place for the ladder"):
        with_table(text, "new")


def test_the_command_writes_what_is_stale_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text(f"# Title\n\n{BEGIN}\n{END}\n")
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == f"Wrote README.md and {PICTURE}.\n"
    (tmp_path / PICTURE).unlink()
    assert main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == f"Older than the records: {PICTURE}. Run 'make readme'.\n"
    assert not (tmp_path / PICTURE).exists()
    assert main([], tmp_path) == 0
    assert capsys.readouterr().out == f"Wrote {PICTURE}.\n"
    assert main(["--check"], tmp_path) == 0
    assert capsys.readouterr().out == "The ladder is current.\n"
