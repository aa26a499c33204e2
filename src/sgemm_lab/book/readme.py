"""The ladder in README.md: a row per chapter with its fastest kernel, made from the records.

``python -m sgemm_lab.book.readme`` writes it.
"""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from sgemm_lab.catalogue import file_name
from sgemm_lab.errors import LabError
from sgemm_lab.files import CHECKOUT, write_whole
from sgemm_lab.lab.ladders import chapter_pages
from sgemm_lab.models.ladder import GPU, SIZE, LadderStep, ladder
from sgemm_lab.records.store import load_records
from sgemm_lab.text import tenths_percent

BEGIN, END = "<!-- ladder:begin -->", "<!-- ladder:end -->"


def table(steps: Sequence[LadderStep]) -> str:
    """Return the ladder as a Markdown table, and below it the GPU, the size and the dates.

    Each chapter has one row: its fastest kernel at 4096³, next to cuBLAS in the same arithmetic.
    Variants are included.
    """
    titles = {number: title for number, (_, title) in chapter_pages()}
    gpus: dict[str, list[int]] = {}
    lines = ["| Chapter | Fastest kernel | GFLOP/s | Of cuBLAS |", "|:--|:--|--:|--:|"]
    for chapter, group in groupby(steps, key=lambda step: step.kernel.chapter):
        step = _fastest(list(group))
        name = " ".join(filter(None, (f"{chapter}", titles.get(chapter))))
        kernel = f"[{step.title}](kernels/{file_name(step.kernel)})"
        lines.append(f"| {name} | {kernel} | {_cells(step)} |")
        if step.record:
            gpus.setdefault(step.record.gpu.name, []).append(chapter)
    dates = sorted({step.score.date[:10] for step in steps if step.score})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    first, *others = gpus or [GPU]
    where = "".join(f", in chapter {' and '.join(map(str, gpus[name]))} {name}" for name in others)
    source = (
        f"{first}{where}, {when}, M = N = K = {SIZE}, medians. FP32 where no other type is named; "
        "cuBLAS computes in the same type, in the same run."
    )
    return "\n".join([*lines, "", source])


def _fastest(steps: Sequence[LadderStep]) -> LadderStep:
    """Return the step with the largest share of cuBLAS in the same type, at the ladder's size.

    The last one where none is measured there.
    """
    measured = [step for step in steps if step.score and not step.at_smaller_size]
    return max(measured, key=lambda step: step.share or 0, default=steps[-1])


def _cells(step: LadderStep) -> str:
    """Return speed and share of cuBLAS, without a share where cuBLAS was not recorded."""
    score, arithmetic = step.score, step.kernel.arithmetic
    if score is None:
        return "not yet measured | "
    share = tenths_percent(step.share) if step.share else ""
    # Three products make FP32, and are compared with cuBLAS in FP32.
    own = arithmetic in ("tf32", "fp16")
    return f"{score.gflops:,.0f}{f' {arithmetic.upper()}' if own else ''} | {share}"


def with_table(readme: str, ladder_table: str) -> str:
    """Return the README's text with the table between its markers."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise LabError(f"README.md has no place for the ladder. Give it the lines {BEGIN} {END}.")
    return f"{head}{BEGIN}\n\n{ladder_table}\n\n{END}{tail}"


def current(root: Path) -> tuple[str, str]:
    """Return the text of ``root``'s README.md as it is, and as the records want it."""
    readme = root / "README.md"
    if not readme.is_file():
        raise LabError(f"There is no README.md in {root}. The ladder is made in a checkout.")
    text = readme.read_text(encoding="utf-8")
    return text, with_table(text, table(ladder(load_records())))


def main(root: Path = CHECKOUT) -> None:
    """Write the ladder."""
    try:
        _, wanted = current(root)
    except LabError as error:
        sys.exit(str(error))
    write_whole(root / "README.md", wanted)


if __name__ == "__main__":
    main()
