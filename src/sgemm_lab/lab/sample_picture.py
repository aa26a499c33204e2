"""Samples in the order in which they were taken, drawn against their median."""

import statistics
from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from sgemm_lab import style
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab.arguments import AnySize, kernel_of, size_of
from sgemm_lab.lab.output import Output, Picture, sentence
from sgemm_lab.lab.speeds import speeds, title_of
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import number, size_text

STRAY = 0.03
"""A sample that is this share below the median counts as one that strayed."""

_LOOKS = (("o", style.KERNEL), ("D", style.CUBLAS), ("s", style.PREDICTED),
          ("^", style.LEVEL_COLOURS["dram"]), ("v", style.LEVEL_COLOURS["shared"]))  # fmt: skip


def spread(name: str | Kernel, size: AnySize = 4096) -> Picture | Output:
    """Draw every sample of a kernel, and of cuBLAS in turns with it, in the order taken.

    If the kernel was not measured at this size, a sentence says so.
    """
    kernel, size = kernel_of(name), size_of(size)
    found = speeds([kernel], [size])
    if found.waiting:
        return sentence(not_yet_measured(found.waiting, f" at {size_text(size)}"))
    score = found.of(kernel.name, size)
    library = score.cublas.samples
    title = title_of(kernel.name)
    return sample_picture(
        {title: score.samples, "cuBLAS": library},
        f"Samples of {title} at {size_text(size)}",
        _conclusion(title, score.samples, library),
    )


def deviation(samples: Sequence[float]) -> float:
    """Return how far the farthest sample is from the median, as a share of it."""
    middle = statistics.median(samples)
    return max(abs(sample / middle - 1) for sample in samples)


def sample_picture(series: Mapping[str, Sequence[float]], title: str, conclusion: str) -> Picture:
    """Draw up to five rows of samples in GFLOP/s, each as percent off its own median."""
    rows = len(series)
    size, on_phone = (5.8, 2.7 + 0.2 * rows), 2.7 + 0.36 * rows
    return Picture(partial(_draw, series), title, conclusion, size, on_phone)


def _draw(series: Mapping[str, Sequence[float]], ax: Axes, phone: bool) -> None:
    line = "\n" if phone else " "
    ax.axhline(0, color=style.LINE, linewidth=0.8)
    for (name, samples), (marker, colour) in zip(series.items(), _LOOKS, strict=False):
        middle = statistics.median(samples)
        label = f"{name},{line}median {number(middle)} GFLOP/s"
        off = [100 * (sample / middle - 1) for sample in samples]
        ax.plot(
            range(1, len(off) + 1), off, marker=marker, color=colour, markersize=4,
            linewidth=0.8, alpha=0.9, label=label,
        )  # fmt: skip
    ax.set(xlabel="sample, in the order taken", ylabel="off its median")
    ax.yaxis.set_major_formatter(lambda value, _: _percent(value))
    ax.grid(axis="y")
    ax.figure.legend(loc="outside upper left", fontsize=9 if phone else 10)


def _conclusion(title: str, samples: Sequence[float], library: Sequence[float]) -> str:
    halves = (
        f"Half of the samples of {title} lie within {_middle_half(samples):.1%} of their median, "
        f"half of those of cuBLAS within {_middle_half(library):.1%}. A smaller difference "
        "between medians means nothing."
    )
    strayed = [
        _straying(name, taken)
        for name, taken in ((title, samples), ("cuBLAS", library))
        if _strays(taken)
    ]
    if strayed:
        return " ".join([*strayed, halves])
    return f"{halves} The farthest of all is {max(map(deviation, (samples, library))):.1%} off."


def _straying(name: str, samples: Sequence[float]) -> str:
    middle, strays = statistics.median(samples), _strays(samples)
    taken = "1 is an outlier" if strays == 1 else f"{strays} are outliers"
    lost = 1 - statistics.harmonic_mean(samples) / middle
    return (
        f"Of {len(samples)} samples of {name} {taken}; the slowest took "
        f"{middle / min(samples):.2f} times as long as the median sample. "
        f"The mean of the times would report {lost:.1%} less speed. The median hardly notices."
    )


def _strays(samples: Sequence[float]) -> int:
    return sum(sample < (1 - STRAY) * statistics.median(samples) for sample in samples)


def _middle_half(samples: Sequence[float]) -> float:
    """Return how far from the median the nearer half of the samples reaches, as a share of it."""
    middle = statistics.median(samples)
    return statistics.median(abs(sample / middle - 1) for sample in samples)


def _percent(value: float) -> str:
    return f"{value:+.3g} %".replace("-", "−") if value else "0 %"
