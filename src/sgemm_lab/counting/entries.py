"""The accesses and products of a launch in one table, thread by thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgemm_lab.simulator import Trace

Column = npt.NDArray[Any]

PRODUCT = -1
"""Stands in the column ``array`` of a multiply-add."""


@dataclass(frozen=True)
class Entries:
    """What the threads of one block did, one entry per thread and element, in order.

    ``columns`` are those of a trace without ``block``; of a product ``element`` is -1, ``a`` and
    ``b`` are the factors, and ``value`` is the sum after it.
    """

    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.columns["step"])

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    @property
    def by_thread(self) -> Column:
        """Numbers of the entries, thread after thread, each in its own order."""
        return np.lexsort((np.arange(len(self)), self["step"], self["thread"]))


def entries_of(trace: Trace, block: int, arrays: Sequence[str] | None = None) -> Entries:
    """Return what a block did.

    Arrays are numbered as in the trace, or as in ``arrays``, their names: another launch may meet
    them in another order.
    """
    accesses = {name: c[trace.columns["block"] == block] for name, c in trace.columns.items()}
    products = {name: c[trace.products["block"] == block] for name, c in trace.products.items()}
    if arrays is not None:
        numbers = np.array([arrays.index(array["name"]) for array in trace.arrays])
        accesses["array"] = numbers[accesses["array"]]
    count, made = len(accesses["step"]), len(products["step"])
    nothing = np.full(count, np.nan)
    fillers = {
        "array": np.full(made, PRODUCT),
        "element": np.full(made, -1),
        "store": np.ones(made, np.int8),
    }
    columns = {
        name: np.concatenate([accesses[name], {**fillers, **products}[name]])
        for name in ("step", "thread", "line", "window", "array", "element", "value", "store")
    }
    columns |= {name: np.concatenate([nothing, products[name]]) for name in ("a", "b")}
    order = np.argsort(columns["step"], kind="stable")
    return Entries({name: column[order] for name, column in columns.items()})
