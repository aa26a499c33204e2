"""An exercise on the page: the reader's answer, judged; lines that are right raced on a GPU."""

import re
from collections.abc import Sequence
from html import escape

from sgemm_lab.exercises import Lines, Machine, find_exercise
from sgemm_lab.kernel import Kernel, Size, load_kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output
from sgemm_lab.lab.racing import RACED_SIZE
from sgemm_lab.lab.speeds import speeds


def exercise(name: str, answer: object = None) -> Output:
    """Judge an answer to one of the book's exercises.

    Raises:
        LabError: there is no such exercise; the message names the nearest.
    """
    found = find_exercise(name)
    judged = found.judge(answer, Machine(gpu=session.live(), speeds=_speeds))
    text = judged.text
    html = re.sub("`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    if judged.right:
        text = f"✓ {text}"
        html = f"✓ {html.replace('Right:', '<b>Right:</b>', 1)}"
    html = f'<p class="lab-judged">{html}</p>'
    if judged.source:
        text = f"{text}\n{judged.source}"
        html += f'<p class="lab-provenance">{escape(judged.source)}</p>'
    if isinstance(found, Lines) and judged.kernel is not None and session.live():
        raced = speeds([load_kernel(found.kernel), judged.kernel], [RACED_SIZE])
        return Output(f"{html}{raced._repr_html_()}", f"{text}\n\n{raced!r}")
    return Output(html, text)


def _speeds(kernels: Sequence[Kernel], size: Size) -> tuple[dict[str, float], str]:
    """Measure here, or take the record: GFLOP/s by kernel name, and where they come from."""
    found = speeds(kernels, [size])
    return {kernel.name: found.of(kernel.name).gflops for kernel in kernels}, found.note
