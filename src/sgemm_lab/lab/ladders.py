"""The ladder of kernels: the widget, filled with records and this session's runs."""

import re
from collections.abc import Iterable

import numpy as np

from sgemm_lab.catalogue import load_kernels
from sgemm_lab.cuda.launch import current_device
from sgemm_lab.errors import LabError
from sgemm_lab.files import data_folder
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.speeds import origin, title_of
from sgemm_lab.models.ladder import MAIN_STEPS
from sgemm_lab.records.gpu_record import MATMUL, Measurement, Record, Score
from sgemm_lab.records.store import scores
from sgemm_lab.text import size_text
from sgemm_lab.widgets import Ladder
from sgemm_lab.widgets.ladder import LIBRARY, GpuName, Result, Step

_ARITHMETICS = {
    "tf32": "Both multiply in TF32.",
    "fp16": "Both multiply in FP16.",
    "3xtf32": "It adds three TF32 products; cuBLAS multiplies in FP32.",
    "3xfp16": "It adds three FP16 products; cuBLAS multiplies in FP32.",
}
"""The arithmetic of a kernel and of cuBLAS beside it, where that is not FP32."""

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
