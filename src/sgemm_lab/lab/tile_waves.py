"""Tiles on SMs, filled with the GPUs of the book, its kernels' tiles and what was measured."""

from collections.abc import Collection, Sequence

from sgemm_lab.errors import LabError
from sgemm_lab.formulas.tile import Tile
from sgemm_lab.formulas.wave_quantization import LARGEST, SMALLEST
from sgemm_lab.gpu import Gpu, is_model
from sgemm_lab.kernel import Kernel
from sgemm_lab.lab import session
from sgemm_lab.lab.arguments import kernel_of
from sgemm_lab.lab.roofs import chosen_gpu
from sgemm_lab.models.roofline import all_gpus
from sgemm_lab.records.gpu_record import Score
from sgemm_lab.widgets import TileWaves
from sgemm_lab.widgets.tile_waves import Chip, TiledKernel


def tile_waves(
    *names: str | Kernel, size: int = 4096, even: Collection[str] = (), gpu: str | None = None
) -> TileWaves:
    """Draw when each SM works on the tiles of a square product, and what share of time is used.

    Args:
        names: kernels whose tiles, and measured speeds, can be chosen; the first is shown.
        even: those of them that give every SM the same number of K tiles, not whole tiles of C;
            they are drawn beside a kernel with the same tile.
        gpu: an id such as "t4"; by default this machine's GPU, or the one of the records.

    Raises:
        LabError: a kernel has no tile, ``even`` names none of the kernels, or the book does not
            know the GPU.
    """
    kernels = [kernel_of(name) for name in names]
    known = [kernel.name for kernel in kernels]
    for name in even:
        if name not in known:
            raise LabError(f"'{name}' is to share evenly, but it is none of {', '.join(known)}.")
    sheets = all_gpus(session.all_records())
    return TileWaves(
        [Chip(id=sheet.id, name=sheet.name, sms=sheet.sms) for sheet in sheets],
        [_tiled(kernel, sheets, even=kernel.name in even) for kernel in kernels],
        gpu=chosen_gpu(gpu),
        size=size,
    )


def _tiled(kernel: Kernel, sheets: Sequence[Gpu], *, even: bool) -> TiledKernel:
    tile = Tile.from_constants(kernel.values)
    found = TiledKernel(
        name=kernel.name, bm=tile.bm, bn=tile.bn, bk=tile.bk, even=even, gpu="", speeds=[], note=""
    )
    for record in session.all_records():
        sheet = next((one for one in sheets if is_model(record.gpu.name, one)), None)
        scores = _squares(kernel, record.scores)
        if sheet and scores:
            found["gpu"] = sheet.id
            found["speeds"] = [(score.m, round(score.gflops)) for score in scores]
            found["note"] = f"{record.gpu.name}, {scores[-1].date[:10]}"
            break
    return found


def _squares(kernel: Kernel, scores: Sequence[Score]) -> list[Score]:
    """Return the scores of this source of a kernel at M = N = K, smallest first."""
    return sorted(
        (
            score
            for score in scores
            if (score.kernel, score.fingerprint) == (kernel.name, kernel.fingerprint)
            and SMALLEST <= score.m == score.n == score.k <= LARGEST
        ),
        key=lambda score: score.m,
    )
