"""An exercise or a prediction: the reader's answer, judged; right lines are raced on a GPU."""

import re
from collections.abc import Sequence
from html import escape

from sgemm_lab.catalogue import load_kernel
from sgemm_lab.errors import LabError
from sgemm_lab.exercises import (
    Exercise,
    Judgement,
    Lines,
    Machine,
    find_exercise,
    find_prediction,
)
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.comparison import RACED_SIZE
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.speeds import speeds
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import size_text


def exercise(name: str, answer: object = None) -> Output:
    """Judge an answer to one of the book's exercises.

    Raises:
        LabError: there is no such exercise; the message names the nearest.
    """
    found = find_exercise(name)
    judged = _judged(found, answer)
    output = _output(judged)
    if isinstance(found, Lines) and judged.kernel is not None and session.live():
        raced = speeds([load_kernel(found.kernel), judged.kernel], [RACED_SIZE])
        return Output(f"{output.html}{raced._repr_html_()}", f"{output.text}\n\n{raced!r}")
    return output


def predict(name: str, answer: object = None) -> Output:
    """Set what was counted or measured beside what the reader committed to.

    Raises:
        LabError: there is no such prediction; the message names the nearest.
    """
    return _output(_judged(find_prediction(name), answer))


def machine_of_records() -> Machine:
    """Return a machine without a GPU, whose speeds are the book's records."""
    return Machine(gpu=False, speeds=_recorded)


def _judged(found: Exercise, answer: object) -> Judgement:
    return found.judge(answer, Machine(gpu=session.live(), speeds=_speeds))


def _output(judged: Judgement) -> Output:
    text = judged.text
    html = re.sub("`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    if judged.right:
        text = f"✓ {text}"
        html = f"✓ {html.replace('Right:', '<b>Right:</b>', 1)}"
    html = f'<p class="lab-judged">{html}</p>'
    if judged.source:
        text = f"{text}\n{judged.source}"
        html += f'<p class="lab-provenance">{escape(judged.source)}</p>'
    return Output(html, text)


def _speeds(kernels: Sequence[Kernel], size: Size) -> tuple[dict[str, float], str]:
    """Measure here, or take the record: GFLOP/s by kernel name, and where they come from."""
    found = speeds(kernels, [size])
    return {kernel.name: found.of(kernel.name).gflops for kernel in kernels}, found.note


def _recorded(kernels: Sequence[Kernel], size: Size) -> tuple[dict[str, float], str]:
    """Take GFLOP/s from the first of the book's records that has them all."""
    for record in session.book_records():
        found = [record.score(kernel, size) for kernel in kernels]
        known = [score for score in found if score is not None]
        if len(known) == len(kernels):
            speeds_ = {score.kernel: score.gflops for score in known}
            return speeds_, session.provenance(record.gpu, known[0].run)
    raise LabError(not_yet_measured([kernel.name for kernel in kernels], f" at {size_text(size)}"))
