"""The verbs of several GPUs: plans drawn and run, and what the record says."""

from functools import partial

from matplotlib.axes import Axes

from sgemm_lab import style
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.lab.arguments import AnySize, size_of
from sgemm_lab.lab.output import Output, Picture, table
from sgemm_lab.lab.pictures.frame import figure
from sgemm_lab.lab.pictures.gpus import timeline_panel
from sgemm_lab.multi_gpu.layouts import layouts, make_plan
from sgemm_lab.multi_gpu.plan import Plan, Tile
from sgemm_lab.multi_gpu.queries import RecordQueries, findings, flop_per_link_byte, median
from sgemm_lab.multi_gpu.run_plan import in_numpy, multiply
from sgemm_lab.multi_gpu.topology import cuda_errors_as_messages, gpu_count
from sgemm_lab.records.multi_gpu import COPY, ProductTimes
from sgemm_lab.text import bytes_moved_text, number, plural, size_text
from sgemm_lab.widgets import GpuTiles
from sgemm_lab.widgets.gpu_tiles import PlacedPlan, PlacedProduct, PlacedRound, PlacedTransfer

_NAMES = {"rows": "By rows", "summa": "SUMMA", "cannon": "Cannon"}
_SIZES = (8192, 16384, 32768)
"""n of the large products in the roofline. Smaller ones, from 512 on, ran as CUDA graphs."""


class MultiGpuResults(RecordQueries):
    """What was measured on several GPUs, with what the plan and the model say of it."""

    @property
    def tflops(self) -> float:
        """TFLOP/s of one GPU's cuBLAS call on a part of C: the fastest that was measured."""
        return max(
            2 * n**3 / gpus / median(self.product(gpus, n, layouts(gpus)[0]).alone) / 1e12
            for gpus in (2, 4) for n in _SIZES
        )  # fmt: skip

    @property
    def ridge(self) -> float:
        """FLOP per link byte from which on arithmetic bounds, and not the link."""
        return 1e12 * self.tflops / self.link().bytes_per_second

    @property
    def note(self) -> str:
        """Where the numbers come from."""
        return f"{self.record.gpu.name}s in one server, recorded on {self.day}."

    @staticmethod
    def ms(samples: tuple[float, ...] | None) -> float:
        """Return the median of samples in milliseconds."""
        return 1e3 * median(samples)

    def speedup(self, gpus: int, n: int) -> float:
        """Return how many times as fast several GPUs are as one, both as a CUDA graph."""
        one = self.product(1, n, graph=True)
        more = self.product(gpus, n, layouts(gpus)[0], graph=True)
        return median(one.overlap) / median(more.overlap)

    def roof_picture(self) -> Picture:
        """Draw the roofline of the link: TFLOP/s of all GPUs over FLOP per link byte.

        It has a roof for 2 and for 4 GPUs, and the products that were measured under it.
        """
        says = (
            "Large products reach the roof, the arithmetic of all GPUs. Small ones stay far below: "
            "they wait for latency, so none lies on the slope. Dotted: measured."
        )
        return Picture(partial(_draw_roof, self), "The roofline of the link", says, (7.2, 3.8), 4.4)


def multi_gpu_results() -> MultiGpuResults:
    """Return what the record of several GPUs says: ``product``, ``link``, ``predicted`` times."""
    return MultiGpuResults(findings().record)


def gpu_tiles(*plans: tuple[str, int], size: int = 16384) -> GpuTiles:
    """Step through plans for several GPUs: the tiles that each GPU multiplies, the bytes it gets.

    Each plan is a layout, "rows", "summa" or "cannon", and a number of GPUs.
    """
    return GpuTiles([placed(make_plan(layout, (size, size, size), gpus)) for layout, gpus in plans])


def placed(plan: Plan) -> PlacedPlan:
    """Return a plan as the widget draws it."""
    rounds = [PlacedRound(products=[], transfers=[]) for _ in range(plan.rounds)]
    tiles = [_tiles_by_round(plan, gpu) for gpu in range(plan.gpus)]
    for number_, (products, receives) in enumerate(plan.by_round()):
        for gpu, step in products:
            a, b, c = (tiles[gpu][number_][name] for name in (step.a, step.b, step.c))
            one = PlacedProduct(gpu=gpu, a=_rectangle(a), b=_rectangle(b), c=_rectangle(c))
            rounds[number_]["products"].append(one)
        for gpu, moved in receives:
            rounds[number_]["transfers"].append(
                PlacedTransfer(
                    source=moved.source,
                    to=gpu,
                    matrix=moved.tile.matrix,
                    tile=_rectangle(moved.tile),
                    bytes=moved.tile.bytes,
                )
            )
    label = f"{_NAMES[plan.layout]}, {plural(plan.gpus, 'GPU')}, {size_text(plan.size)}"
    return PlacedPlan(label=label, size=plan.size[0], grid=plan.grid, rounds=rounds)


def gpu_timeline() -> Output:
    """Draw when each of four GPUs multiplied and received data at 8192³, as recorded."""
    wanted = (4, 8192, layouts(4)[0], COPY)
    runs = {
        one.overlap: (run, one)
        for run, one in multi_gpu_results().timelines()
        if (one.case.gpus, one.case.n, one.case.layout, one.case.transport) == wanted
    }
    last = max(piece.end for _, one in runs.values() for piece in one.pieces)
    return figure(
        timeline_panel("One after the other", runs[False][1], last),
        timeline_panel("Overlapped", runs[True][1], last),
        conclusion="Overlapped, the tiles arrive while a product runs. Purple is a product, orange "
        "a tile that arrives. The long ones include a wait for the sender, which first serves "
        "another GPU.",
        origin=f"8192³, recorded on {runs[True][0].date[:10]}, each GPU by its own clock.",
    )


def run_on_gpus(layout: str, size: AnySize, gpus: int = 4) -> Output:
    """Run a plan and check it: on this machine's GPUs if it has enough, else in NumPy.

    Raises:
        LabError: the layout does not take the number of GPUs, or C came out wrong.
    """
    size = size_of(size)
    plan = make_plan(layout, size, gpus)
    if has_gpu() and gpu_count() >= gpus:
        with cuda_errors_as_messages():
            seconds = multiply(plan)
        note = (
            f"On {plural(gpus, 'GPU')} in {number(1e3 * seconds)} ms: "
            f"{number(plan.flop / seconds / 1e12)} TFLOP/s. Sampled rows are right."
        )
    else:
        in_numpy(plan)
        note = "Run in NumPy, one GPU at a time. Sampled rows of C are right."
    rows = [
        [
            f"GPU {gpu}",
            f"{len(share.products)}",
            f"{len(share.receives)}",
            bytes_moved_text(sum(step.tile.bytes for step in share.receives)),
            bytes_moved_text(share.bytes),
        ]
        for gpu, share in enumerate(plan.shares)
    ]
    heads = [f"{size_text(size)}, {layout}", "products", "tiles received", "bytes", "memory"]
    return table(heads, rows, note=note)


def _tiles_by_round(plan: Plan, gpu: int) -> list[dict[str, Tile]]:
    """Return what each buffer of a GPU holds when the products of a round begin."""
    share = plan.shares[gpu]
    held = {**share.own, **share.results}
    found = []
    for round_ in range(plan.rounds):
        found.append(dict(held))
        held |= {step.buffer: step.tile for step in share.receives if step.round == round_}
    return found


def _rectangle(tile: Tile) -> tuple[int, int, int, int]:
    return tile.row, tile.column, tile.rows, tile.columns


def _points(found: MultiGpuResults, gpus: int) -> list[tuple[float, ProductTimes]]:
    """Return the measured products of so many GPUs, each with its FLOP for a byte of the link."""
    layout = layouts(gpus)[0]
    sizes = {n: n < _SIZES[0] for n in (512, 1024, 2048, 4096, *_SIZES)}
    return [(flop_per_link_byte(layout, n, gpus), found.product(gpus, n, layout, graph=is_small))
            for n, is_small in sizes.items()]  # fmt: skip


def _draw_roof(found: MultiGpuResults, ax: Axes, phone: bool) -> None:
    link, rate = found.link().bytes_per_second / 1e12, found.tflops
    low, high, ridge = 48, 24_000, rate / link
    for gpus, level, marker, right in ((2, "dram", "o", 24), (4, "shared", "s", -26)):
        hue = style.LEVEL_COLOURS[level]
        ax.plot([low, ridge, high], [gpus * low * link, gpus * rate, gpus * rate], color=hue)
        ax.annotate(f"{gpus} GPUs", (ridge, gpus * rate), xytext=(4, 5 if gpus == 4 else -12),
                    textcoords="offset points", color=hue, fontsize=9)  # fmt: skip
        points = _points(found, gpus)
        ax.plot([x for x, _ in points], [times.tflops for _, times in points], f"{marker}:",
                color=hue, mec=style.MEASURED)  # fmt: skip
        for x, times in points[:: 2 if phone else 1]:
            apart = (0, -16) if times.case.n >= (2048 if gpus == 2 else 8192) else (right, -4)
            ax.annotate(f"{times.case.n}³", (x, times.tflops), xytext=apart, ha="center",
                        textcoords="offset points", color=style.MUTED, fontsize=9)  # fmt: skip
    ax.axvline(ridge, color=style.CUBLAS, lw=1, ls="--")
    ax.annotate("ridge", (ridge, 0.05), xytext=(5, 0), xycoords=ax.get_xaxis_transform(),
                textcoords="offset points", color=style.MUTED, fontsize=9)  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="FLOP for each byte of the link",
           ylabel="TFLOP/s of all GPUs", xlim=(low, high), ylim=(3, 300))  # fmt: skip
    ax.grid(True, color=style.GRID)
    ax.set_yticks([5, 20, 50, 100, 200])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:,.0f}")
        axis.set_minor_formatter("")
