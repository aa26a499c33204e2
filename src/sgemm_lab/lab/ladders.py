"""The ladder of kernels: the widget, filled with records and this session's runs, and the strip."""

import re
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from sgemm_lab.catalogue import load_kernel, load_kernels
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.each_gpu import each_gpu
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.speeds import origin, title_of
from sgemm_lab.models.ladder import MAIN_STEPS, SIZE, LadderStep
from sgemm_lab.models.ladder import ladder as recorded_steps
from sgemm_lab.records.gpu_record import MATMUL, Measurement, Record, Score
from sgemm_lab.records.store import scores
from sgemm_lab.text import percent, size_text
from sgemm_lab.widgets import Ladder
from sgemm_lab.widgets.ladder import LIBRARY, GpuName, Result, Step

_ARITHMETICS = {
    "tf32": "Both multiply in TF32.",
    "fp16": "Both multiply in FP16.",
    "3xtf32": "It adds three TF32 products; cuBLAS multiplies in FP32.",
    "3xfp16": "It adds three FP16 products; cuBLAS multiplies in FP32.",
}
"""The arithmetic of a kernel and of cuBLAS beside it, where that is not FP32."""

_LAST_FOR_SQUARES = 10
"""The last chapter whose kernels are meant for large squares."""

HERE = "here"
"""The id of this machine's GPU among those of the records."""


def ladder(size: AnySize = 4096) -> Ladder:
    """Show every kernel of the book beside cuBLAS, at every recorded size and GPU.

    Raises:
        LabError: nothing was measured at this size.
    """
    size = size_of(size)
    gpus: list[GpuName] = []
    results: list[Result] = []
    if session.live():
        gpus.append({"id": HERE, "name": f"{current_device().name}, yours"})
    for record in session.here():
        results += results_of(record, HERE)
    for record in session.book_records():
        gpus.append({"id": record.gpu.name, "name": record.gpu.name})
        results += results_of(record, record.gpu.name)
    known = {result["gpu"] for result in results if result["size"] == size}
    if not known:
        raise LabError(f"Nothing was recorded at {size_text(size)}. Choose another size.")
    start = next(gpu["id"] for gpu in gpus if gpu["id"] in known)
    return Ladder(_steps(), gpus, results, gpu=start, size=size)


def results_of(record: Record, gpu: str) -> list[Result]:
    """Return what a record holds of each kernel, and of cuBLAS beside it, as the widget takes it.

    Quantiles are those of the seconds, so the median is the GFLOP/s that the book quotes.
    """
    arithmetics = {kernel.name: kernel.arithmetic for kernel in load_kernels(variants=True)}
    results: list[Result] = []
    library: dict[Size, Result] = {}
    for score in sorted(scores([record]), key=lambda score: score.date):
        if score.kernel == MATMUL:  # chooses among the steps, and is none
            continue
        arithmetic = arithmetics.get(score.kernel, "fp32")
        beside = score.library_gflops(arithmetic) or 0.0
        results.append({**_result(score, score, gpu), "cublas": beside})
        library[score.size] = {**_result(score, score.cublas, gpu), "kernel": LIBRARY}
    return results + list(library.values())


def ladder_strip(*names: str, after: Sequence[str] = ()) -> Output:
    """Show where a chapter's kernels stand on the ladder, and which come before and after.

    ``after`` names predictions of the page. The strip then waits behind a button until all of them
    are answered or skipped, so that nothing above the questions gives the results away.

    Raises:
        LabError: a kernel is unknown, or a variant, which has no place of its own.
    """
    for name in names:
        if ":" in name:
            raise LabError(f"'{name}' is a variant: the ladder holds '{name.partition(':')[0]}'.")
    wanted = {load_kernel(name).name for name in names}
    strip = each_gpu(lambda: _strip(wanted))
    return Output(_folded(strip.html, after), strip.text) if after else strip


def _strip(wanted: set[str]) -> Output:
    records = session.book_records()
    steps = [s for s in recorded_steps(records) if _has_bar(s, wanted)]
    lit = [i for i, step in enumerate(steps) if step.kernel.name in wanted]
    if not lit:
        raise LabError("Name at least one kernel, such as lab.ladder_strip('tiled').")
    shown = range(max(0, lit[0] - 1), min(len(steps), lit[-1] + 2))
    before = steps[shown[0]] if shown[0] < lit[0] else None
    next_step = steps[shown[-1]] if shown[-1] > lit[-1] else None
    words = (
        (f"Before: {_step_text(before)}. " if before else "")
        + f"Here: {'; '.join(_step_text(steps[i]) for i in lit)}."
        + (f" Next: {_step_text(next_step)}." if next_step else "")
    )
    gpu = records[0].gpu.name
    text = f"Place on the ladder of kernels, shares of cuBLAS at {SIZE}³ on {gpu}. {words}"
    return Output(_strip_html(steps, lit, shown, text), text)


def _steps() -> list[Step]:
    pages = dict(chapter_pages())
    return [_step(kernel, pages) for kernel in load_kernels(variants=True)]


def _step(kernel: Kernel, pages: dict[int, tuple[str, str]]) -> Step:
    href, title = pages.get(kernel.chapter, ("", ""))
    return {
        "name": kernel.name,
        "title": title_of(kernel.name),
        "variant": kernel.name not in MAIN_STEPS,
        "arithmetic": _ARITHMETICS.get(kernel.arithmetic, ""),
        "chapter": f"chapter {kernel.chapter}" + (f", {title}" if title else ""),
        "href": href,
    }


def chapter_pages() -> Iterable[tuple[int, tuple[str, str]]]:
    """Yield the number of each chapter, its page's address and its title.

    Chapters are not in the wheel: there they have numbers only.
    """
    try:
        folder = data_folder("chapters")
    except LabError:
        return
    for path in sorted(folder.glob("[0-9]*.md")):
        title = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.M)
        if title:
            yield int(path.stem.partition("_")[0]), (f"{path.stem}.html", title[1])


def _result(score: Score, samples: Measurement, gpu: str) -> Result:
    """Return the samples of a score's kernel, or of cuBLAS beside it, as the widget takes them."""
    slow, late, middle, early, fast = np.quantile(samples.seconds, (1, 0.75, 0.5, 0.25, 0))
    giga = samples.flop / 1e9
    return {
        "gpu": gpu,
        "kernel": samples.kernel,
        "size": samples.size,
        "samples": len(samples.seconds),
        "min": giga / float(slow),
        "p25": giga / float(late),
        "median": giga / float(middle),
        "p75": giga / float(early),
        "max": giga / float(fast),
        "cublas": score.cublas_gflops,
        "note": origin(score),
    }


def _step_text(step: LadderStep) -> str:
    return f"{step.title} {percent(step.share) if step.score else '(not yet measured)'}"


def _folded(strip: str, waits_for: Sequence[str]) -> str:
    """Return a strip behind a button that works in a notebook too."""
    return (
        f'<details class="lab-later" data-lab-after="{escape(" ".join(waits_for))}">'
        f"<summary>Show where this page leads (gives away the predictions)</summary>"
        f"{strip}</details>"
    )


def _has_bar(step: LadderStep, lit: set[str]) -> bool:
    """Whether a step is lit, or a main one for large squares in FP32: such shares compare."""
    if step.kernel.name in lit:
        return True
    fp32 = step.kernel.arithmetic == "fp32" and step.kernel.chapter <= _LAST_FOR_SQUARES
    main = step.kernel.name in MAIN_STEPS
    return fp32 and main and step.score is not None and not step.at_smaller_size


def _strip_html(
    steps: Sequence[LadderStep], lit: Sequence[int], shown: Sequence[int], text: str
) -> str:
    """Return the strip: bars that stretch with the page, and the names around the lit ones.

    Every colour has a fallback, because a notebook has none of the page's variables.
    """
    most = max(1.0, *(step.share for step in steps))
    width = 10 * len(steps)
    line, focus = "var(--lab-line, #8b949e)", "var(--lab-focus, #2f81d6)"
    bars = []
    for i, step in enumerate(steps):
        tall = max(3.0, 100 * step.share / most)
        look = f'fill="{focus}"' if i in lit else f'fill="{line}" fill-opacity="0.5"'
        box = f'x="{10 * i + 1}" y="{100 - tall:.1f}" width="8" height="{tall:.1f}"'
        bars.append(f"<rect {box} {look}/>")
    picture = (
        f'<svg role="img" aria-label="{escape(text)}" viewBox="0 0 {width} 100" '
        'preserveAspectRatio="none" style="display:block;width:100%;height:28px">'
        f"{''.join(bars)}"
        f'<path d="M0 {100 - 100 / most:.1f}H{width}" stroke="var(--lab-cublas, #9a7b12)" '
        'stroke-width="2" stroke-dasharray="5 3" vector-effect="non-scaling-stroke"/></svg>'
    )
    names = [escape(_step_text(steps[i])).replace(" %", "&nbsp;%") for i in shown]
    marked = [
        f'<strong style="color:var(--lab-focus, inherit)">{name}</strong>' if i in lit else name
        for i, name in zip(shown, names, strict=True)
    ]
    start = "" if lit[0] == 0 else "… "
    mixed = any(steps[i].kernel.arithmetic != "fp32" for i in shown)
    same = " in the same arithmetic (three products: in FP32)" if mixed else ""
    return (
        f'<div class="lab-place">{picture}<div style="margin-top:3px;font-size:12px;'
        f'line-height:1.2;color:var(--lab-muted, inherit)">{start}{" → ".join(marked)}'
        f"{' → …' if shown[-1] + 1 < len(steps) else ''} · share of cuBLAS{same}, the dashed line"
        "</div></div>"
    )
