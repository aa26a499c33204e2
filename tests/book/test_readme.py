"""The ladder in the README: made from the records, and current."""

import re
from pathlib import Path

import pytest
from record_samples import record, run, samples

from sgemm_lab.book import readme
from sgemm_lab.book.readme import BEGIN, END, main, table, with_table
from sgemm_lab.catalogue import load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.models.ladder import ladder

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = record(
    run(
        samples("tiled", 4.0, size=4096),
        samples("naive", 8.0, size=4096),
        samples("naive", 1.0, size=8192),
        samples("tiled:TILE=16", 5.0, size=4096),
        samples("mma_tf32", 0.5, size=4096),
        samples("cublas", 1.0, size=4096),
        samples("cublas", 1.0, size=8192),
        samples("strip", 0.2, size=512),
        samples("strip", 0.1, size=256),
        samples("cublas", 0.1, size=512),
        samples("cublas", 0.1, size=256),
    )
)


def test_the_ladder_of_the_readme_is_current() -> None:
    text, wanted = readme.current(ROOT)
    assert text == wanted, "Older than the records. Run 'make readme'."


def test_the_table_has_a_row_per_chapter_with_its_fastest_kernel_at_4096() -> None:
    lines = table(ladder([SMALL])).splitlines()
    flop = 2 * 4096**3
    tiled = f"[Tiled](kernels/030_tiled.cu) | {flop / 4e9:,.0f} | 25 %"
    assert f"| 2 Tiling | {tiled} |" in lines
    # The last kernel of a chapter of which nothing is measured at this size.
    waiting = "[float4 tile"
    assert waiting not in "\n".join(lines)
    assert ("| 6 Bank conflicts | [Split](kernels/160_split.cu) | not yet measured |  |") in lines
    assert any(line.endswith(f"| {flop / 5e8:,.0f} TF32 |  |") for line in lines)
    chapters = {kernel.chapter for kernel in load_kernels()}
    assert [line for line in lines if re.match(r"\| \d", line)] == lines[2 : 2 + len(chapters)]


def test_files_that_the_readme_links_are_there() -> None:
    links = re.findall(r'(?:\]\(|src(?:set)?=")([^)"]+)', README)
    assert {"CONTRIBUTING.md", "LICENSE", "kernels/030_tiled.cu"} <= set(links)
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_what_the_readme_tells_to_run_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.M))
    assert named >= {"book", "test", "lab"}
    assert named <= targets


def test_the_example_of_the_library_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.+?)```", README, re.S)
    lines, *products = example.split("c = matmul(")
    exec(lines, {})
    assert capsys.readouterr().out.startswith("4096³ by ")
    assert products


@pytest.mark.parametrize("text", ["", BEGIN, f"{END} {BEGIN}"])
def test_missing_markers_are_a_sentence(text: str) -> None:
    with pytest.raises(LabError, match=r"README\.md has no place for the ladder"):
        with_table(text, "new")


def test_the_command_writes_the_ladder(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\n{END}\n")
    main(tmp_path)
    assert "cuBLAS" in readme.read_text()
