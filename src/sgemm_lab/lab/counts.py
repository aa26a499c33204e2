"""What a kernel asks of memory: counted here, beside what a GPU's own counters said."""

from sgemm_lab.counters import Counters
from sgemm_lab.counting import CountedLaunch, Size, count
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.output import Output, size_text, table
from sgemm_lab.record import counted

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


class Counted:
    """Several kernels counted at one size."""

    def __init__(self, kernels: list[Kernel], size: Size) -> None:
        """Simulate each kernel once.

        Raises:
            LabError: the size is too large, or a kernel cannot be compiled here.
        """
        self.size = size
        self.launches = {kernel.name: count(kernel, size) for kernel in kernels}
        self.hardware = {kernel.name: _hardware(kernel, size) for kernel in kernels}

    def total(self, kernel: str, key: str) -> int:
        """Return one count of one kernel, such as "global_load_sectors"."""
        return int(getattr(self.launches[kernel].result.counts.total, key))

    def launch(self, kernel: str) -> CountedLaunch:
        """Return everything that was counted of one kernel."""
        return self.launches[kernel]

    def _table(self) -> Output:
        heads = ["per launch"]
        for name, found in self.hardware.items():
            heads.append(f"{name}, counted here")
            if found is not None:
                heads.append("by the H200" if "H200" in found[0] else f"by the {found[0]}")
        rows = []
        for key, label in ROWS.items():
            row = [label]
            for name, found in self.hardware.items():
                row.append(f"{self.total(name, key):,}")
                if found is not None:
                    row.append(f"{found[1].values[key]:,.0f}")
            if any(cell != "0" for cell in row[1:]):
                rows.append(row)
        note = (
            f"M, N, K = {size_text(self.size)}. “Counted here” ran the kernel's PTX on this "
            "machine's processor, no GPU."
        )
        dates = {found[2] for found in self.hardware.values() if found is not None}
        if dates:
            note += f" The GPU's own counters were recorded on {', '.join(sorted(dates))}."
        return table(heads, rows, note=note)

    def _repr_html_(self) -> str:
        return self._table().html

    def __repr__(self) -> str:
        return self._table().text


def _hardware(kernel: Kernel, size: Size) -> tuple[str, Counters, str] | None:
    """Return the GPU's name, its counters of a kernel at a size, and their date."""
    for record in session.all_records():
        for run in record.runs:
            found = counted(record).get((kernel.name, *size))
            if found in run.counters and found is not None:
                return record.gpu.name, found, run.date[:10]
    return None
