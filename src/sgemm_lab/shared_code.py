"""Device functions that kernels share: ``kernels/device.cuh``, inlined where a kernel includes it.

The line ``#include "device.cuh"`` of a kernel stands for the functions of that file that the kernel
uses and does not define itself, in the order of the file. Everything that works on a source, such
as a compiler, the simulator, a record's fingerprint or the page's editor, has the whole text.
Listings leave out the inlined lines.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

FILE = "device.cuh"
INCLUDE = f'#include "{FILE}"'
_FIRST, _LAST = f"// From {FILE}:", f"// End of {FILE}."
"""The comments that enclose what was inlined."""

_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"[^"\n]*"')
_DEFINED = re.compile(
    r"^(?:__device__ [^(\n]*?\b(\w+)\(|using (\w+) =|struct [^{\n]*?(\w+) \{)", re.M
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def with_shared_code(source: str, shared: str) -> str:
    """Return a kernel's source with the definitions of ``shared`` that it uses at its include.

    A source without an include is unchanged. ``shared`` is the text of ``device.cuh``: definitions
    with a blank line between two of them.
    """
    before, include, after = source.partition(f"\n{INCLUDE}\n")
    if not include:
        return source
    definitions = _definitions(shared)
    known = definitions.keys() - _defined(source)
    wanted: set[str] = set()
    found = _names(source) & known
    while found:
        wanted |= found
        found = {name for one in found for name in _names(definitions[one])} & known - wanted
    inlined = "\n\n".join(text for name, text in definitions.items() if name in wanted)
    return f"{before}\n{_FIRST}\n{inlined}\n{_LAST}\n{after}"


def inlined_lines(source: str) -> range:
    """Return the 1-based numbers of the inlined lines, the enclosing comments included."""
    lines = source.splitlines()
    if _FIRST not in lines:
        return range(0)
    return range(lines.index(_FIRST) + 1, lines.index(_LAST) + 2)


@lru_cache(maxsize=4)
def _definitions(shared: str) -> Mapping[str, str]:
    """Return each definition with its comment, by its name."""
    texts = [text.strip("\n") for text in shared.split("\n\n")]
    return {name: text for text in texts for name in _defined(text)}


def _defined(source: str) -> set[str]:
    return {name for names in _DEFINED.findall(source) for name in names if name}


def _names(source: str) -> set[str]:
    return set(_NAME.findall(_COMMENT_OR_TEXT.sub("", source)))
