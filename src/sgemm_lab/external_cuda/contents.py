"""Other contents of arrays of integers, which the file does not say where its host code fills them.

They may be indices, keys or counts. What is found with small numbers, with zeros and with ascending
numbers is found with any.
"""

from collections.abc import Iterator

import numpy as np

from sgemm_lab.external_cuda.arguments import Array, named_numbers
from sgemm_lab.external_cuda.launch import Arrays, Prepared, fitting_indices, index_roles


def other_contents(prepared: Prepared, start: Arrays) -> Iterator[Arrays]:
    """Yield the arrays of a launch with zeros, then with ascending numbers where integers are."""
    for factor in (0, 1):
        values = dict(start.values)
        for one in prepared.given:
            if isinstance(one, Array) and one.use != "out" and prepared.element(one).whole:
                held, stored = values[one.name], prepared.element(one).stored
                most = 1 if stored.kind == "b" else int(np.iinfo(stored).max)
                ascending = np.arange(held.size)
                if most < held.size:
                    ascending %= most + 1
                values[one.name] = (factor * ascending).astype("f8")
        yield Arrays(values, start.unwritten)


def with_empty_rows(prepared: Prepared, start: Arrays) -> list[Arrays]:
    """Return the arrays of a launch with offsets of nothing but empty rows.

    First those lie at the end of what the offsets lead to, then one element before. Empty where no
    array holds offsets.
    """
    roles = index_roles(prepared)
    offsets = [name for name, role in roles.items() if role == "offsets"]
    length = fitting_indices(prepared, roles, named_numbers(prepared.given, {}))[0]
    ends = (float(length), length - 1.0) if offsets and length > 1 else ()
    return [
        Arrays(
            {**start.values, **{name: np.full_like(start.values[name], end) for name in offsets}},
            start.unwritten,
        )
        for end in ends
    ]
