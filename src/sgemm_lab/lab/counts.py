"""What a kernel asks of memory: counted here, beside what a GPU's own counters said."""

from collections.abc import Sequence
from html import escape

from sgemm_lab.counting.cached_counts import launch
from sgemm_lab.counting.kernel_counts import CountedLaunch
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, table
from sgemm_lab.records.gpu_record import Counted as Hardware
from sgemm_lab.simulator.counts import Counts, LineCounts
from sgemm_lab.text import size_text

ROWS = {
    "global_load_requests": "global load requests",
    "global_load_sectors": "sectors they touch",
    "global_store_requests": "global store requests",
    "global_store_sectors": "sectors they touch",
    "shared_load_requests": "shared load requests",
    "shared_load_wavefronts": "wavefronts they take",
    "shared_store_requests": "shared store requests",
    "shared_store_wavefronts": "wavefronts they take",
    "ffma_thread_instructions": "fused multiply-adds",
}

LINE_COLUMNS = {
    "global requests": ("global_load_requests", "global_store_requests"),
    "sectors": ("global_load_sectors", "global_store_sectors"),
    "shared requests": ("shared_load_requests", "shared_store_requests"),
    "wavefronts": ("shared_load_wavefronts", "shared_store_wavefronts"),
    "FLOP": ("flop",),
    "barriers": ("barriers",),
}
"""The counts of a source line, loads and stores together, by the head of their column."""


class Counted:
    """Several kernels counted at one size."""

    def __init__(self, kernels: list[Kernel], size: Size) -> None:
        """Simulate each kernel once."""
        self.size = size
        self.launches = {kernel.name: launch(kernel, size) for kernel in kernels}
        self.hardware = {kernel.name: _hardware(kernel, size) for kernel in kernels}

    def total(self, kernel: str, key: str) -> int:
        """Return one count of one kernel, such as "global_load_sectors"."""
        return int(getattr(self.launches[kernel].result.counts.total, key))

    def of(self, kernel: str) -> LineCounts:
        """Return all counts of one kernel: ``of("tiled").global_load_bytes``."""
        return self.launches[kernel].result.counts.total

    def launch(self, kernel: str) -> CountedLaunch:
        """Return everything that was counted of one kernel."""
        return self.launches[kernel]

    def _table(self) -> Output:
        heads = ["per launch"]
        for name, found in self.hardware.items():
            heads.append(f"{name}, counted here")
            if found is not None:
                heads.append(f"by the {found.device.name.removeprefix('NVIDIA ')}")
        rows = []
        for key, label in ROWS.items():
            row = [label]
            for name, found in self.hardware.items():
                row.append(f"{self.total(name, key):,}")
                if found is not None:
                    row.append(_count_text(found.values.get(key)))
            if any(cell != "0" for cell in row[1:]):
                rows.append(row)
        note = (
            f"M, N, K = {size_text(self.size)}. “Counted here” ran the compiled kernel on this "
            "machine's processor, no GPU."
        )
        dates = {found.run.date[:10] for found in self.hardware.values() if found is not None}
        if dates:
            note += f" The GPU's own counters were recorded on {', '.join(sorted(dates))}."
        return table(heads, rows, note=note)

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text


def lines_of(counts: Counts, source: str, file: str, note: str) -> Output:
    """List what each line of a source costs; lines that cost nothing are left out.

    With ``file``, lines of other files are called by the name of theirs.
    """
    texts = source.splitlines()
    total = counts.total
    columns = {head: keys for head, keys in LINE_COLUMNS.items() if _sum(total, keys)}
    rows = [
        (
            f"{where.line}",
            texts[where.line - 1].strip() if file in ("", where.file) else where.file,
            _numbers(found, columns),
        )
        for where, found in counts.lines.items()
        if any(_sum(found, keys) for keys in columns.values())
    ]
    rows.append(("", "all", _numbers(total, columns)))
    listed = [[line, text, *numbers] for line, text, numbers in rows]
    plain = repr(table(["line", "source", *columns], listed, note=note, numbers=2))
    return Output(_lines_html(list(columns), rows, note), plain)


def _lines_html(heads: list[str], rows: Sequence[tuple[str, str, list[str]]], note: str) -> str:
    """Set each source line above its numbers, so that both have room on a narrow page."""
    head = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in heads)
    bodies = []
    for line, source, numbers in rows:
        code = f"<code>{escape(source)}</code>" if line else escape(source)
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        bodies.append(
            f'<tbody><tr><th scope="rowgroup" colspan="{len(heads)}"><span>{line}</span> {code}'
            f"</th></tr><tr>{cells}</tr></tbody>"
        )
    table = f'<table class="lab-table lab-lines"><thead><tr>{head}</tr></thead>{"".join(bodies)}'
    return (
        '<div class="lab-scroll" tabindex="0" role="group" aria-label="Counts of each source line">'
        f'{table}</table></div><p class="lab-provenance">{escape(note)}</p>'
    )


def _sum(counts: LineCounts, keys: tuple[str, ...]) -> int:
    return sum(getattr(counts, key) for key in keys)


def _numbers(counts: LineCounts, columns: dict[str, tuple[str, ...]]) -> list[str]:
    return [f"{found:,}" if (found := _sum(counts, keys)) else "" for keys in columns.values()]


def _count_text(count: float | None) -> str:
    """Write a counter; a GPU that does not have it gives none."""
    return "not counted" if count is None else f"{count:,.0f}"


def _hardware(kernel: Kernel, size: Size) -> Hardware | None:
    """Return what a GPU counted of this source of a kernel at a size, if one did."""
    found = (record.counted(kernel, size) for record in session.all_records())
    return next(filter(None, found), None)
