"""The ladder of kernels in README.md: its table and its picture, made from the records.

``python -m sgemm_lab.book.readme`` writes both anew; with ``--check`` it says whether they are
current.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.files import CHECKOUT, write_whole
from sgemm_lab.models.ladder import GPU, SIZE, LadderStep, ladder
from sgemm_lab.models.roofline import clock_text
from sgemm_lab.records.gpu_record import Run
from sgemm_lab.records.store import load_records, not_yet_measured
from sgemm_lab.text import tenths, tenths_percent

BEGIN, END = "<!-- ladder:begin -->", "<!-- ladder:end -->"
PICTURE = Path("docs/ladder.svg")

_BOUND_NOTE = (
    "*At most* is what the unit under *bound by* allows: what it does in a clock by its design, "
    "over what the kernel asks of it."
)

_WIDTH, _MARGIN = 8 * 72, 12
"""Of the picture, in points."""


def table(steps: Sequence[LadderStep]) -> str:
    """Return the ladder as a Markdown table, with a line that says where its numbers come from."""
    lines = [
        "| Kernel | Step | Chapter | GFLOP/s | Of cuBLAS | Bound by | At most | Of the bound |",
        "|:--|:--|--:|--:|--:|:--|--:|--:|",
    ]
    for step in steps:
        name = f"[`{step.kernel.base_name}`](kernels/{step.kernel.file_name})"
        speed, share = "not yet measured", ""
        if step.score:
            speed, share = f"{step.score.gflops:,.0f}", tenths_percent(step.share)
        lines.append(
            f"| {name} | {step.title} | {step.kernel.chapter} | {speed} | {share} "
            f"| {_bound_cells(step)} |"
        )
    scores = [step.score for step in steps if step.score]
    library = {score.date: score for score in scores if score.m == SIZE}
    if library:
        lines.append(f"| cuBLAS | | | {library[max(library)].cublas_gflops:,.0f} | 100 % | | | |")
    origins = list(dict.fromkeys(_origin(score.run) for score in scores))
    waiting = [step.kernel.name for step in steps if not step.score]
    notes = [*origins, *([not_yet_measured(waiting)] if waiting else []), _BOUND_NOTE]
    return "\n".join([*lines, "", f"M = N = K = {SIZE}, medians. " + " ".join(notes)])


def _bound_cells(step: LadderStep) -> str:
    bound = step.bound
    if bound is None or step.score is None:
        return "| |"
    return f"{bound.unit} | {bound.gflops:,.0f} | {tenths_percent(bound.share(step.score.gflops))}"


def picture(steps: Sequence[LadderStep]) -> str:
    """Return the ladder as SVG: one bar per measured kernel, without variants, on white ground."""
    shown = [step for step in steps if ":" not in step.kernel.name and step.score]
    shares = [100 * step.share for step in shown]
    inches = 0.7 + 0.29 * len(shown)
    figure = style.figure(_WIDTH / 72, inches)
    with style.book_style():
        axes = figure.subplots()
        rows = range(len(shown))
        colours = [style.LINE if step.at_smaller_size else style.KERNEL for step in shown]
        fp32 = [step.kernel.arithmetic == "fp32" for step in shown]
        fills = [colour if own else "none" for colour, own in zip(colours, fp32, strict=True)]
        axes.barh(rows, shares, height=0.72, color=fills, edgecolor=colours)
        axes.axvline(100, color=style.CUBLAS, linewidth=2)
        axes.text(100, -0.75, "cuBLAS", color=style.CUBLAS, ha="center", va="bottom")
        for row, share in zip(rows, shares, strict=True):
            axes.text(share + 1, row, f"{tenths(share)} %", va="center", color=style.FOREGROUND)
        axes.set_yticks(rows, [step.title for step in shown])
        axes.tick_params(axis="y", length=0, labelcolor=style.FOREGROUND)
        axes.set_xlim(0, max(110.0, *(share + 10 for share in shares)))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        ticks = range(0, 101, 20) if max(shares) < 200 else range(0, int(max(shares)) + 1, 100)
        axes.set_xticks(ticks, [f"{share} %" for share in ticks])
        outline = "" if all(fp32) else "; in outline: tensor cores, not FP32"
        axes.set_xlabel(f"share of cuBLAS on {GPU}, FP32, {SIZE}³{outline}")
    title = f"The ladder of kernels on {GPU}"
    first, last = shown[0], shown[-1]
    drawing = style.svg(
        figure,
        title,
        f"From {first.title}, {tenths_percent(first.share)} of cuBLAS, "
        f"to {last.title}, {tenths_percent(last.share)}.",
    )
    # A file of its own, not part of a page: with a size, a white ground and ids that stay.
    drawing = re.sub(r"lab-[0-9a-f]{8}-\d+", "ladder", drawing)
    width, height = _WIDTH + 2 * _MARGIN, round(72 * inches) + 2 * _MARGIN
    box = f'viewBox="{-_MARGIN} {-_MARGIN} {width} {height}"'
    drawing = re.sub(r'viewBox="[^"]*"', box, drawing, count=1)
    size = f'width="{width * 4 / 3:.0f}" height="{height * 4 / 3:.0f}"'
    drawing = re.sub(r' class="lab-still" style="[^"]*"', f" {size}", drawing, count=1)
    place = f'x="{-_MARGIN}" y="{-_MARGIN}" width="{width}" height="{height}"'
    ground = f'<rect {place} fill="{style.BACKGROUND}"/>'
    return drawing.replace("</desc>\n", f"</desc>\n{ground}\n", 1) + "\n"


def with_table(readme: str, ladder_table: str) -> str:
    """Return the README's text with the table between its markers.

    Raises:
        LabError: the markers are missing.
    """
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise LabError(f"README.md has no place for the ladder. Give it the lines {BEGIN} {END}.")
    return f"{head}{BEGIN}\n\n{ladder_table}\n\n{END}{tail}"


def current_files(root: Path) -> dict[Path, str]:
    """Return what README.md and the picture should hold, by path.

    Raises:
        LabError: there is no README.md, or nothing was recorded.
    """
    readme = root / "README.md"
    if not readme.is_file():
        raise LabError(f"There is no README.md in {root}. The ladder is made in a checkout.")
    steps = ladder(load_records())
    text = with_table(readme.read_text(encoding="utf-8"), table(steps))
    return {readme: text, root / PICTURE: picture(steps)}


def stale_files(root: Path) -> dict[Path, str]:
    """Return the files that do not hold what they should, with what they should hold."""
    return {
        path: text
        for path, text in current_files(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


def main(arguments: Sequence[str] | None = None, root: Path = CHECKOUT) -> int:
    """Write the ladder, or check it; return 0, 1 where it is stale, 2 where it cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m sgemm_lab.book.readme", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if stale")
    check: bool = parser.parse_args(arguments).check
    try:
        stale = stale_files(root)
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    names = " and ".join(str(path.relative_to(root)) for path in stale)
    if not stale:
        print("The ladder is current.")
        return 0
    if check:
        print(f"Older than the records: {names}. Run 'make readme'.", file=sys.stderr)
        return 1
    for path, text in stale.items():
        write_whole(path, text)
    print(f"Wrote {names}.")
    return 0


def _origin(run: Run) -> str:
    return (
        f"Measured on {GPU}, {run.date[:10]}: driver {run.driver}, CUDA {run.cuda}, "
        f"NVRTC {run.nvrtc}, {clock_text(run.clock_mhz)}; cuBLAS as {run.cublas_call}, "
        "in the same run."
    )


if __name__ == "__main__":
    sys.exit(main())
