"""Samples in the order in which they were taken, drawn against their median."""

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.ticker import FuncFormatter

from sgemm_lab import style
from sgemm_lab.kernel import Size, load_kernel
from sgemm_lab.lab.output import Output, Picture, sentence
from sgemm_lab.lab.speeds import speeds, title_of
from sgemm_lab.records.store import not_yet_measured
from sgemm_lab.text import number, size_text

STRAY = 0.03
"""A sample that is this share below the median counts as one that strayed."""

_LOOKS = (("o", style.KERNEL), ("D", style.CUBLAS), ("s", style.PREDICTED),
          ("^", style.LEVEL_COLOURS["dram"]), ("v", style.LEVEL_COLOURS["shared"]))  # fmt: skip


def spread(name: str, size: Size) -> Picture | Output:
    """Draw every sample of a kernel and of cuBLAS beside it, at one size.

    Of a kernel that was not measured at this size a sentence says so.
    """
    found = speeds([load_kernel(name)], [size])
    if found.waiting:
        return sentence(not_yet_measured(found.waiting, f" at {size_text(size)}"))
    score = found.of(name, size)
    library = score.cublas.samples
    title = title_of(name)
    return sample_picture(
        {title: score.samples, "cuBLAS": library},
        f"Samples of {title} at {size_text(size)}",
        _conclusion(title, score.samples, library),
    )


def deviation(samples: Sequence[float]) -> float:
    """Return how far the farthest sample is from the median, as a share of it."""
    middle = statistics.median(samples)
    return max(abs(sample / middle - 1) for sample in samples)


def mean_rate(samples: Sequence[float]) -> float:
    """Return the rate that the mean of the times gives, for samples in work per second."""
    return statistics.harmonic_mean(samples)


def sample_picture(series: Mapping[str, Sequence[float]], title: str, conclusion: str) -> Picture:
    """Draw up to five rows of samples in GFLOP/s, each as percent off its own median."""
    fig = style.figure(5.8, 2.7 + 0.2 * len(series))
    with style.book_style():
        ax = fig.subplots()
        ax.axhline(0, color=style.LINE, linewidth=0.8)
        for (label, samples), (marker, colour) in zip(series.items(), _LOOKS, strict=False):
            middle = statistics.median(samples)
            off = [100 * (sample / middle - 1) for sample in samples]
            ax.plot(
                range(1, len(off) + 1), off, marker=marker, color=colour, markersize=4,
                linewidth=0.8, alpha=0.9, label=f"{label}, median {number(middle)} GFLOP/s",
            )  # fmt: skip
        ax.set(xlabel="sample, in the order taken", ylabel="off its median")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))
        ax.grid(axis="y")
        fig.legend(loc="outside upper left", fontsize=10)
    return Picture(fig, title, conclusion)


def _conclusion(title: str, samples: Sequence[float], library: Sequence[float]) -> str:
    middle, slowest = statistics.median(samples), min(samples)
    strays = sum(sample < (1 - STRAY) * middle for sample in samples)
    if not strays:
        return (
            f"All {len(samples)} samples of {title} lie within {deviation(samples):.1%} of their "
            f"median, those of cuBLAS within {deviation(library):.1%}. "
            "A smaller difference between two kernels tells nothing."
        )
    lost = 1 - mean_rate(samples) / middle
    taken = "One sample" if strays == 1 else f"{strays} samples"
    return (
        f"{taken} of {len(samples)} strayed; the slowest of {title} took "
        f"{middle / slowest:.1f} times as long as the median sample. "
        f"The mean of the times would report {lost:.1%} less speed. The median hardly notices."
    )


def _percent(value: float) -> str:
    return f"{value:+.3g} %".replace("-", "−") if value else "0 %"
