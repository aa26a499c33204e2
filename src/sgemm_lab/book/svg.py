"""The book's SVG pictures, made fit to stand in a page that knows dark mode."""

import re
from collections.abc import Mapping

_ID = re.compile(r'\bid="([^"]+)"')
_DESCRIPTION = re.compile(r"<desc\b[^>]*>(.*?)</desc>", re.DOTALL)
_ROOT_TAG = re.compile(r"<svg\b[^>]*>")


def is_described(picture: str) -> bool:
    """Return whether a screen reader gets a description of the picture."""
    root = _ROOT_TAG.search(picture)
    return root is not None and 'role="img"' in root[0] and "aria-label" in root[0]


def description(picture: str) -> str:
    """Return the sentence that a picture carries as its conclusion, as HTML; "" without one."""
    found = _DESCRIPTION.search(picture)
    return found[1].strip() if found else ""


def for_page(picture: str, *, place: str, colours: Mapping[str, str]) -> str:
    """Return ``picture``, which is from ``sgemm_lab.style.svg``, for one place of one page.

    ``place`` goes into every id, so that a picture may stand twice on a page. CSS variables take
    the place of ``colours`` (``#rrggbb``).
    """
    ids = set(_ID.findall(picture))
    if ids:
        names = "|".join(sorted(map(re.escape, ids), key=len, reverse=True))
        picture = re.sub(rf'(?<=["#\s])(?:{names})(?=["\s)])', rf"\g<0>-{place}", picture)
    for colour, variable in colours.items():
        picture = re.sub(rf"{colour}\b", f"var({variable})", picture, flags=re.IGNORECASE)
    return picture
