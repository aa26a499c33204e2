"""Fit the coefficients of ``model`` to measured times, by least squares of relative errors.

No coefficient is negative: a term is something that takes time. Errors beyond a tenth count less,
so that a few shapes that the terms do not describe do not spoil the others. The fit to matrices
whose rows float4 cannot read is drawn towards that to the others, which have more shapes.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sgemm_lab.gemm.dispatch.model import Slots, is_aligned, terms
from sgemm_lab.kernel import Kernel, Size
from sgemm_lab.records.dispatch_table import TimeModelFit
from sgemm_lab.records.gpu_record import Seconds

CLUSTER = "SPLIT"
"""The constant of a kernel with the blocks of its clusters."""

LEAST_SHAPES = 4
"""With fewer measurements, aligned and other matrices are fitted together."""

_LARGE_ERROR = 0.1
_PULL = 0.05
"""Of the aligned fit, per shape: of 0, 0.01, 0.05 and 0.2 it gave the best picks at 61 drawn shapes
in cross-validation with four folds."""
_ROUNDS, _SWEEPS = 4, 500
_SETTLED = 1e-4
_FEWER_CLUSTERS = 5
"""Clusters less than SMs / blocks that are tried."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Times:
    """The measured times of one candidate: seconds by M, N, K."""

    kernel: Kernel
    resident: int
    """Blocks on an SM."""
    seconds: Mapping[Size, float]


def fit(measured: Iterable[Times], sms: int) -> tuple[TimeModelFit, ...]:
    """Return the fits of the candidates that were measured often enough."""
    found = [one for one in measured if len(one.seconds) >= LEAST_SHAPES]
    clusters = {
        blocks: _cluster_slots([one for one in found if _blocks(one) == blocks], sms, blocks)
        for blocks in {_blocks(one) for one in found} - {0}
    }
    return tuple(
        _fit(one, Slots(sms, one.resident, clusters.get(_blocks(one), 0))) for one in found
    )


def _blocks(one: Times) -> int:
    """Return the blocks of a cluster; 0 without clusters, or of one block."""
    blocks = one.kernel.values.get(CLUSTER, 1)
    return blocks if blocks > 1 else 0


def _cluster_slots(measured: Sequence[Times], sms: int, blocks: int) -> int:
    """Return the number of clusters for which the fits are the best."""
    tried = range(max(1, sms // blocks - _FEWER_CLUSTERS), sms // blocks + 1)

    def error(clusters: int) -> float:
        return sum(_fit(one, Slots(sms, one.resident, clusters)).error for one in measured)

    return min(reversed(tried), key=error)


def _fit(one: Times, slots: Slots) -> TimeModelFit:
    by_alignment: dict[bool, list[Size]] = {True: [], False: []}
    for size in one.seconds:
        by_alignment[is_aligned(one.kernel, size)].append(size)
    near: Floats | None = None
    coefficients, errors = {}, []
    for aligned, sizes in by_alignment.items():
        chosen = sizes if len(sizes) >= LEAST_SHAPES else list(one.seconds)
        counts = np.array([terms(one.kernel, size, slots) for size in chosen], dtype=float)
        seconds = np.array([one.seconds[size] for size in chosen])
        near = coefficients[aligned] = _least_squares(
            counts / seconds[:, None], near if chosen is sizes else None
        )
        errors += [abs(x) for x in counts @ near / seconds - 1]
    return TimeModelFit(
        kernel=one.kernel.name,
        fingerprint=one.kernel.fingerprint,
        resident=one.resident,
        clusters=slots.clusters or None,
        shapes=len(one.seconds),
        error=float(f"{statistics.median(errors):.3g}"),
        aligned=_rounded(coefficients[True]),
        other=_rounded(coefficients[False]),
    )


def _rounded(coefficients: Floats) -> tuple[Seconds, ...]:
    return tuple(float(f"{x:.4g}") for x in coefficients)


def _least_squares(relative: Floats, near: Floats | None) -> Floats:
    """Return x ≥ 0, near ``near``, for which the rows of ``relative`` times x are nearest to 1."""
    weights = np.ones(len(relative))
    pull = np.diag(relative.mean(0)) * (_PULL * len(relative)) ** 0.5
    pull, pulled = (pull[:0], pull[:0, 0]) if near is None else (pull, pull @ near)
    x = np.zeros(relative.shape[1])
    for _ in range(_ROUNDS):
        rows = np.vstack([relative * weights[:, None], pull])
        x = _non_negative(rows, np.concatenate([weights, pulled]))
        errors = relative @ x - 1
        weights = 1 / np.sqrt(1 + (errors / _LARGE_ERROR) ** 2)
    return x


def _non_negative(matrix: Floats, goal: Floats) -> Floats:
    """Return x ≥ 0 that minimises ‖matrix·x − goal‖, by coordinate descent."""
    scale = np.sqrt((matrix**2).sum(0))
    scale[scale == 0] = 1
    matrix = matrix / scale
    products, right = matrix.T @ matrix, matrix.T @ goal
    x = np.zeros(len(right))
    for _ in range(_SWEEPS):
        before = x.copy()
        for place, own in enumerate(np.diag(products)):
            if own:
                x[place] = max(0.0, x[place] - (products[place] @ x - right[place]) / own)
        if np.abs(x - before).max() <= _SETTLED * x.max():
            break
    found: Floats = x / scale
    return found
