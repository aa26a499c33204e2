"""Infer the arguments of a matrix product from the parameters' names and types.

(M, N, K, alpha, A, B, beta, C), (A, B, C, M, K, N), (A, B, C, n), strides lda, ldb, ldc,
(C, A, B, wA, wB), and what else names its parameters so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sgemm_lab.external_cuda.arguments import Array, Given, Image, Matrix, Number, Role, Use
from sgemm_lab.external_cuda.elements import Element
from sgemm_lab.external_cuda.kernels import KernelParameter

_MATRIX_NAMES: dict[Role, str] = {
    "A": r"a|mata|amat|matrixa|lhs|inputa|x1|m",
    "B": r"b|matb|bmat|matrixb|rhs|inputb|x2|n",
    "C": r"c|matc|cmat|matrixc|out|output|res|result|p|d|outputc",
}
_SIZE_NAMES = {
    "M": r"m|ha|hc|arows?|rowsa|numarows|numcrows|crows|rows|ah|heighta|heightc",
    "N": r"n|wb|wc|bcols?|colsb|numbcolumns|numccolumns|numbcols|ccols|cols|bw|widthb|widthc",
    "K": r"k|wa|hb|acols?|colsa|numacolumns|numacols|brows?|rowsb|numbrows|aw|widtha|heightb|inner",
    "A": r"lda|stridea|strideam|sa",
    "B": r"ldb|strideb|sb",
    "C": r"ldc|stridec|sc",
}
_FIELDS = (
    r"height|rows?|h|m|numrows|nrows",
    r"width|cols?|columns|w|n|stride|ld|pitch|ncols|numcols",
)
"""Fields of a struct that is a matrix: how many rows it has, and how many columns."""
_SIDES: dict[Role, tuple[str, str]] = {"A": ("M", "K"), "B": ("K", "N"), "C": ("M", "N")}
_LEADING = {"A": "K", "B": "N", "C": "N"}
_LEADING_BY_COLUMNS = {"A": "M", "B": "K", "C": "M"}
_PRODUCT = re.compile(r"gemm|mm|mul|mat|product|mma|hgem|tile|dot", re.I)
_SURELY = re.compile(r"gemm|mat.*mul|mul.*mat|matrix.?prod", re.I)
_OTHER = re.compile(r"vec|add|trans|softmax|relu|norm|reduc|scan|copy|attention|embed|gemv|conv",
                    re.I)  # fmt: skip


IMAGES = {
    "cudaTextureObject_t": "texture", "CUtexObject": "texture",
    "cudaSurfaceObject_t": "surface", "CUsurfObject": "surface",
}  # fmt: skip
"""Types of the source that stand for an image, and for which."""


@dataclass(frozen=True)
class Parameter:
    """A parameter with the element that it holds or points to, where that is known."""

    declared: KernelParameter
    element: Element | None

    @property
    def image(self) -> str:
        """Whether it is a "texture" or a "surface"; "" where it is none."""
        return IMAGES.get(self.declared.type, "") if not self.declared.pointer else ""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return not self.declared.pointer and self.element is not None and self.element.whole


def plain(name: str) -> str:
    """Return a parameter's name without what says where it lies: "a" of "d_A" and "dev_a"."""
    text = name.lower().strip("_")
    text = re.sub(r"^(?:d|dev|device|g|gpu|gm|p|ptr|in|h|matrix)_(?=\w)", "", text)
    text = re.sub(r"_(?:d|dev|device|gpu|ptr|mat)$", "", text)
    text = re.sub(r"^(?:d|dev)(?=[abc]$)", "", text)
    text = re.sub(r"^([abcmnp])(?:d|dev|mat|s)$", r"\1", text)
    return text.replace("_", "")


def product_arguments(
    kernel: str, parameters: Sequence[Parameter], *, by_columns: bool = False
) -> tuple[Given, ...] | None:
    """Return the arguments of a kernel that multiplies; None if it does not look like one."""
    pointers = [p for p in parameters if p.declared.pointer]
    sizes = [p for p in parameters if p.is_whole]
    scalars = [p for p in parameters if not p.declared.pointer and not p.is_whole]
    if len(pointers) != 3 or not sizes or len(scalars) > 2 or None in (p.element for p in scalars):
        return None
    if _OTHER.search(kernel) and not re.search(r"gemm|matmul", kernel, re.I):
        return None
    if not _PRODUCT.search(kernel) and _named(pointers) < 2:
        return None
    roles = _roles(pointers)
    texts = _sizes(sizes, by_columns)
    if texts is None or (len(sizes) == 1 and not _PRODUCT.search(kernel)):
        return None
    given: list[Given] = []
    for p in parameters:
        if p.declared.pointer:
            given.append(Matrix(roles.pop(0), by_columns))
        elif p.is_whole:
            given.append(Number(texts.pop(0)))
        else:
            given.append(Number("0" if _is_beta(p, scalars) else "1"))
    return tuple(given)


def _is_beta(parameter: Parameter, scalars: Sequence[Parameter]) -> bool:
    named = [p for p in scalars if plain(p.declared.name).startswith("bet")]
    return parameter in (named or scalars[1:])


def is_named_product(kernel: str, parameters: Sequence[Parameter]) -> bool:
    """Return whether names, not types alone, say that a kernel multiplies matrices."""
    pointers = [p for p in parameters if p.declared.pointer]
    return bool(_SURELY.search(kernel)) or _named(pointers) == len(_MATRIX_NAMES)


def _named(pointers: Sequence[Parameter]) -> int:
    """Return how many of the three matrices the names of pointers may mean."""
    names = [plain(p.declared.of or p.declared.name) for p in pointers]
    return sum(any(re.fullmatch(pattern, n) for n in names) for pattern in _MATRIX_NAMES.values())


def _roles(pointers: Sequence[Parameter]) -> list[Role]:
    """Say which matrix each of three pointers is: by its name, or else by what may be written."""
    found: dict[int, Role] = {}
    names = [plain(p.declared.of or p.declared.name) for p in pointers]
    for role, pattern in _MATRIX_NAMES.items():
        same = [place for place, name in enumerate(names) if re.fullmatch(pattern, name)]
        if len(same) == 1:
            found[same[0]] = role
    if len(found) == 3:
        return [found[place] for place in range(3)]
    written = [place for place, p in enumerate(pointers) if not p.declared.const]
    made = written[0] if len(written) == 1 else 2
    inputs: list[Role] = ["A", "B"]
    return ["C" if place == made else inputs.pop(0) for place in range(3)]


def _sizes(sizes: Sequence[Parameter], by_columns: bool) -> list[str] | None:
    if any(p.declared.of for p in sizes):
        return _sizes_of_fields(sizes)
    names = [plain(p.declared.name) for p in sizes]
    if len(sizes) == 1:
        return [next((s for s in "MK" if re.fullmatch(_SIZE_NAMES[s], names[0])), "N")]
    leading = _LEADING_BY_COLUMNS if by_columns else _LEADING
    texts = []
    for name in names:
        same = [size for size, pattern in _SIZE_NAMES.items() if re.fullmatch(pattern, name)]
        if not same:
            return ["M", "N", "K"] if len(sizes) == 3 else None
        texts.append(leading.get(same[0], same[0]))
    return texts


def _sizes_of_fields(sizes: Sequence[Parameter]) -> list[str] | None:
    """Sizes that are fields: of ``struct Matrix { int width, height; float* elements; }``."""
    texts = []
    for p in sizes:
        matrix, field = plain(p.declared.of), plain(p.declared.name.rpartition(".")[2])
        role = next((r for r, names in _MATRIX_NAMES.items() if re.fullmatch(names, matrix)), None)
        side = next((i for i, names in enumerate(_FIELDS) if re.fullmatch(names, field)), None)
        if role is None or side is None:
            return None
        texts.append(_SIDES[role][side])
    return texts


def suggestion(parameters: Sequence[Parameter]) -> str:
    """Return arguments that a reader may start from: arrays of n elements."""
    given: list[Given] = []
    for number, p in enumerate(parameters, 1):
        # As --args takes it: a field's name has a point, and M, N and K are the size.
        name = re.sub(r"\W+", "_", p.declared.name).strip("_") or f"p{number}"
        numbered = p.is_whole and name not in ("M", "N", "K")
        known = "" if p.element is not None else "float"
        if p.image:
            use: Use = "texture" if p.image == "texture" else "surface"
            given.append(Image(name, use, "64:64", "float"))
        elif p.declared.pointer:
            given.append(Array(name, "in" if p.declared.const else "inout", "4096", known))
        else:
            given.append(Number("4096" if p.is_whole else "1.0", name if numbered else ""))
    return " ".join(map(str, given))
