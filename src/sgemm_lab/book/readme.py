"""The ladder of kernels in README.md: its table and its picture, made from the records.

``python -m sgemm_lab.book.readme`` writes both anew; with ``--check`` it says whether they are
current.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgemm_lab import style
from sgemm_lab.errors import LabError
from sgemm_lab.files import CHECKOUT, write_whole
from sgemm_lab.kernel import Kernel, load_kernels
from sgemm_lab.models.roofline import clock_text
from sgemm_lab.records.data import Record, Run, Score
from sgemm_lab.records.store import load_records, not_yet_measured

GPU = "NVIDIA H200"
SIZE = 4096

BEGIN, END = "<!-- ladder:begin -->", "<!-- ladder:end -->"
PICTURE = Path("docs/ladder.svg")

_WIDTH, _MARGIN = 8 * 72, 12
"""Of the picture, in points."""


@dataclass(frozen=True)
class Step:
    """A kernel and its latest score: at 4096³, or at its largest square where it takes no more."""

    kernel: Kernel
    score: Score | None
    """None where no square of this kernel's code is measured yet."""

    @property
    def title(self) -> str:
        """The kernel's title; a variant's with its constants, a smaller size with that size."""
        _, _, constants = self.kernel.name.partition(":")
        parts = [self.kernel.title, *([constants.replace(",", ", ")] if constants else [])]
        smaller = f" (at {self.score.m}³)" if self.score and self.at_smaller_size else ""
        return ", ".join(parts) + smaller

    @property
    def share(self) -> float:
        """The share of cuBLAS; 0 where nothing is measured."""
        return self.score.share if self.score else 0.0

    @property
    def at_smaller_size(self) -> bool:
        """Whether the score is one at a smaller size, because the kernel takes no larger."""
        return self.score is not None and self.score.m != SIZE


def ladder(records: Iterable[Record]) -> list[Step]:
    """Return every kernel and variant of the book, in order, as the ladder's GPU measured it.

    Raises:
        LabError: nothing was recorded on that GPU.
    """
    measured_on = [record for record in records if record.gpu.name == GPU]
    steps = [Step(k, _best_square(k, measured_on)) for k in load_kernels(variants=True)]
    if not any(step.score for step in steps):
        raise LabError(f"No record holds square sizes measured on {GPU}.")
    return steps


def _best_square(kernel: Kernel, records: Iterable[Record]) -> Score | None:
    """Return the score of a kernel's code at its largest square up to that of the ladder."""
    squares = {
        score.m: score
        for record in records
        for score in record.scores
        if (score.kernel, score.fingerprint) == (kernel.name, kernel.fingerprint)
        and score.m == score.n == score.k <= SIZE
    }
    return squares[max(squares)] if squares else None


def table(steps: Sequence[Step]) -> str:
    """Return the ladder as a Markdown table, with a line that says where its numbers come from."""
    lines = [
        "| Kernel | Step | Chapter | GFLOP/s | Share of cuBLAS |",
        "|:--|:--|--:|--:|--:|",
    ]
    for step in steps:
        name = f"[`{step.kernel.base_name}`](kernels/{step.kernel.file_name})"
        speed, share = "not yet measured", ""
        if step.score:
            speed, share = f"{step.score.gflops:,.0f}", f"{step.share:.1%}"
        lines.append(f"| {name} | {step.title} | {step.kernel.chapter} | {speed} | {share} |")
    scores = [step.score for step in steps if step.score]
    library = {score.date: score for score in scores if score.m == SIZE}
    if library:
        lines.append(f"| cuBLAS | | | {library[max(library)].cublas_gflops:,.0f} | 100% |")
    origins = list(dict.fromkeys(_origin(score.run) for score in scores))
    waiting = [step.kernel.name for step in steps if not step.score]
    notes = [*origins, *([not_yet_measured(waiting)] if waiting else [])]
    return "\n".join([*lines, "", f"M = N = K = {SIZE}, medians. " + " ".join(notes)])


def picture(steps: Sequence[Step]) -> str:
    """Return the ladder as SVG: one bar per measured kernel, without variants, on white ground."""
    shown = [step for step in steps if ":" not in step.kernel.name and step.score]
    shares = [100 * step.share for step in shown]
    inches = 0.7 + 0.29 * len(shown)
    figure = style.figure(_WIDTH / 72, inches)
    with style.book_style():
        axes = figure.subplots()
        rows = range(len(shown))
        colours = [style.LINE if step.at_smaller_size else style.KERNEL for step in shown]
        axes.barh(rows, shares, height=0.72, color=colours)
        axes.axvline(100, color=style.CUBLAS, linewidth=2)
        axes.text(100, -0.75, "cuBLAS", color=style.CUBLAS, ha="center", va="bottom")
        for row, share in zip(rows, shares, strict=True):
            axes.text(share + 1, row, f"{share:.1f}%", va="center", color=style.FOREGROUND)
        axes.set_yticks(rows, [step.title for step in shown])
        axes.tick_params(axis="y", length=0, labelcolor=style.FOREGROUND)
        axes.set_xlim(0, max(110.0, *(share + 10 for share in shares)))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xticks(range(0, 101, 20), [f"{share}%" for share in range(0, 101, 20)])
        axes.set_xlabel(f"share of cuBLAS on {GPU}, FP32, {SIZE}³")
    title = f"The ladder of kernels on {GPU}"
    first, last = shown[0], shown[-1]
    drawing = style.svg(
        figure,
        title,
        f"From {first.title}, {first.share:.1%} of cuBLAS, to {last.title}, {last.share:.1%}.",
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
