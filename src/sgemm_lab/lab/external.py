"""Kernels as they were found somewhere: counted and judged in a notebook, without a GPU."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from sgemm_lab.external_cuda import (
    ExternalKernel,
    ExternalRun,
    Pasted,
    check_file,
    count_external,
)
from sgemm_lab.kernel import Size, terms
from sgemm_lab.lab.counts import lines_of
from sgemm_lab.lab.output import Output, table
from sgemm_lab.text import size_text

MOST_FINDINGS = 3
"""Most findings of a kernel in the table."""


def external_kernel(
    text: str,
    name: str,
    entry: str | None,
    grid: str,
    block: str,
    args: str | None,
    shared_bytes: int,
    define: Mapping[str, str | int] | None,
) -> ExternalKernel:
    """Return a kernel of pasted text, with its launch as ``sgemm-lab count`` reads it."""
    defines = {key: str(value) for key, value in (define or {}).items()}
    pasted = Pasted(name, text, Path(), entry, (), defines)
    return ExternalKernel(pasted, tuple(terms(grid)), tuple(terms(block)), str(shared_bytes), args)


def external_verdict(kernels: Sequence[ExternalKernel]) -> Output:
    """Check every kernel of some files by simulation and return the verdicts as a table."""
    rows = []
    for kernel in kernels:
        for report in check_file(kernel):
            texts = (*report.findings[:MOST_FINDINGS], *report.said)
            rows.append([report.kernel, " ".join([f"{report.verdict}.", *map(str, texts)])])
    note = "Checked here without a GPU: the compiled kernel ran on this machine's processor."
    return table(["kernel", "verdict"], rows, note=note, numbers=2)


class ExternalCounted:
    """One launch of a pasted kernel: the verdict, and what each line asks of memory."""

    def __init__(self, done: ExternalRun) -> None:
        """Take a launch that was counted."""
        self.done = done

    @property
    def cause(self) -> str:
        """Why C is wrong, where a usual cause explains it; or ""."""
        return self.done.cause

    @property
    def total(self) -> Mapping[str, int | float]:
        """All counts of the launch by name, such as "shared_load_wavefronts"."""
        return self.done.result.counts.total.to_json()

    def verdict(self) -> list[str]:
        """Say what is right and wrong, in sentences."""
        return [*self.done.sentences, *(self.done.findings() or ["No hazard was found."])]

    def _table(self) -> Output:
        done = self.done
        pasted = done.kernel.pasted
        at = f" at M, N, K = {size_text(done.size)}" if done.depends_on_size else ""
        note = f"One launch of {done.name}{at}, counted here, no GPU."
        return lines_of(done.result.counts, pasted.text, pasted.name, note)

    def _repr_html_(self) -> str:
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.verdict())
        return f"{self._table().html}<ul>{said}</ul>"

    def __repr__(self) -> str:
        return "\n".join([self._table().text, *self.verdict()])


def external_count(kernel: ExternalKernel, size: Size, expect: str | None) -> ExternalCounted:
    """Count and judge one launch."""
    expected = () if expect is None else (expect,)
    return ExternalCounted(count_external(kernel, size, expect=expected))
