"""Reads of textures, and uses of surfaces, that an H200 did: what is drawn, and which kernel reads.

Everything is drawn from a seed of its own, so that only what the GPU read has to be kept.
"""

import zlib
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TYPES = {
    "f4": "float", "f2": "half", "u1": "unsigned char", "i1": "signed char",
    "u2": "unsigned short", "i2": "short", "u4": "unsigned int", "i4": "int",
}  # fmt: skip
VECTORS = {
    "f4": "float", "u1": "uchar", "i1": "char", "u2": "ushort", "i2": "short", "u4": "uint",
    "i4": "int",
}  # fmt: skip
CALLS = {
    "1d": ("tex1D", "x"),
    "2d": ("tex2D", "x, y"),
    "3d": ("tex3D", "x, y, z"),
    "a1d": ("tex1DLayered", "x, int(y)"),
    "a2d": ("tex2DLayered", "x, y, int(z)"),
    "fetch": ("tex1Dfetch", "int(x)"),
}
_BEYOND = ("clamp", "border", "wrap", "mirror")
_USUAL = {"1d": (1, 1, 9), "2d": (1, 5, 7), "3d": (3, 5, 7), "a1d": (6, 1, 9), "a2d": (4, 5, 7)}


@dataclass(frozen=True)
class Reads:
    """Reads of one texture at many places."""

    geometry: str
    type: str = "f4"
    numbers: int = 1
    shape: tuple[int, int, int] = (1, 5, 7)
    """Depth or layers, height, width."""
    linear: bool = False
    normalized: bool = False
    beyond: str = "clamp"
    as_float: bool = True
    """Whether small whole numbers are read as fractions."""
    texels: str = "normal"
    places: str = "drawn"
    count: int = 1024
    seed: int = 0

    @property
    def name(self) -> str:
        parts = [self.geometry, self.type, str(self.numbers), "x".join(map(str, self.shape))]
        parts += [self.beyond, self.texels, self.places]
        parts += [f"seed{self.seed}"] if self.seed else []
        parts += [word for word in ("linear", "normalized", "as_float") if getattr(self, word)]
        return "_".join(parts)

    @property
    def result(self) -> str:
        """What a number is read as."""
        if self.as_float or self.type.startswith("f"):
            return "f4"
        return "u4" if self.type.startswith("u") else "i4"

    @property
    def kernel(self) -> str:
        """The name of its kernel: several cases share one."""
        return f"read_{self.geometry}_{self._asked.replace(' ', '_')}"

    @property
    def _asked(self) -> str:
        of = "f4" if self.result == "f4" else self.type
        return f"{VECTORS[of]}{self.numbers}" if self.numbers > 1 else TYPES[of]

    @property
    def source(self) -> str:
        call, places = CALLS[self.geometry]
        names = "xyzw"[: self.numbers]
        stores = (
            [f"o[{self.numbers} * i + {n}] = v.{c};" for n, c in enumerate(names)]
            if self.numbers > 1
            else ["o[i] = v;"]
        )
        type_ = {"f4": "float", "u4": "unsigned int", "i4": "int"}[self.result]
        return f"""extern "C" __global__ void {self.kernel}(
    cudaTextureObject_t t, const float* at, {type_}* o, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2];
    {self._asked} v = {call}<{self._asked}>(t, {places});
    {" ".join(stores)}
}}"""

    @property
    def _random(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(self.name.encode()))

    def image(self) -> Array:
        """The texture's elements."""
        random, shape = self._random, (*self.shape, self.numbers)
        if self.texels == "step":  # 0 up to the middle, then 1 (or the largest)
            ramp = (np.arange(self.shape[2]) >= self.shape[2] // 2).reshape(1, 1, -1, 1)
            most = 1 if self.type.startswith("f") else np.iinfo(self.type).max
            return np.ascontiguousarray(np.broadcast_to(ramp * most, shape).astype(self.type))
        if self.texels == "corner":  # a single 1
            found = np.zeros(shape, self.type)
            found[tuple(side // 2 for side in self.shape)] = (
                1 if self.type.startswith("f") else np.iinfo(self.type).max
            )
            return found
        if self.texels == "wide":  # magnitudes far apart
            span = 30 if self.type == "f4" else 7
            exponents = random.integers(-span, span, shape)
            return (random.standard_normal(shape) * 2.0**exponents).astype(self.type)
        if self.texels == "infinite":
            found = random.standard_normal(shape).astype(self.type)
            found.ravel()[::5] = np.inf
            return found
        if self.type.startswith("f"):
            return random.standard_normal(shape).astype(self.type)
        limits = np.iinfo(self.type)
        return random.integers(limits.min, limits.max, shape, self.type, endpoint=True)

    def at(self) -> Array:
        """The places: x, y and z of each."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()) ^ 1)
        depth, height, width = self.shape
        layers = self.geometry.startswith("a")
        sides = np.array([width, depth if self.geometry == "a1d" else height, depth], "f8")
        n = self.count
        if self.places == "fine":  # one element's way in steps of 1/4096
            x = width // 2 - 0.5 + np.arange(n) / 4096 * (4096 / n) * 1.25 - 0.125
            at = np.stack([x, np.full(n, height // 2 + 0.5), np.full(n, depth // 2 + 0.5)], 1)
        elif self.places == "close":  # around halves of 1/256, where a rounding shows
            k = np.repeat(np.arange(n // 4), 4) % 512
            nudge = np.tile([-1e-4, 0, 1e-4, 0.3e-2], n // 4)[:n]
            x = width // 2 - 0.5 + k / 512 + nudge
            y = height // 2 + 0.5 - random.integers(0, 512, n) / 512
            at = np.stack([x, y, np.full(n, depth // 2 + 0.5)], 1)
        else:
            at = (random.random((n, 3)) * 3 - 1) * sides
            whole = random.random(n) < 0.2  # edges of elements
            at[whole] = np.floor(at[whole])
            half = random.random(n) < 0.1  # middles of elements
            at[half] = np.floor(at[half]) + 0.5
            inside = random.random(n) < 0.4
            at[inside] = random.random((inside.sum(), 3)) * sides
        if self.geometry == "fetch":
            at[:, 0] = np.floor(at[:, 0])
        if self.normalized:
            scale = sides.copy()
            scale[1 if self.geometry == "a1d" else 2 if layers else 3 :] = 1
            at = at / scale
        if self.places == "drawn" and not self.normalized and self.geometry != "fetch":
            at[:4, 0] = (np.nan, np.inf, -np.inf, 1e30)
        if self.places == "odd":
            odd = (
                np.nan, np.inf, -np.inf, 1e30, -1e30, 1e9, -1e-9, -1e-40, 3e-39, -0.0, 2.0**21,
                -12345.678,
            )  # fmt: skip
            at[: len(odd), 0] = odd
            at[len(odd) : 2 * len(odd), 1] = odd
            near = np.nextafter(at[100:300].astype("f4"), np.float32(np.inf))
            at[300:500] = near
            at[500:700] = np.nextafter(at[100:300].astype("f4"), np.float32(-np.inf))
        return np.ascontiguousarray(at.astype("f4"))


def _reads() -> list[Reads]:
    # A filter of a line is left out where the border is along y, too: there it takes half.
    found = []
    for geometry, beyond, linear, normalized in product(
        ("1d", "2d"), _BEYOND, (False, True), (False, True)
    ):
        found.append(
            Reads(geometry, shape=_USUAL[geometry], linear=linear, normalized=normalized,
                  beyond=beyond)
        )  # fmt: skip
    for geometry, beyond, linear in product(("3d", "a1d", "a2d"), _BEYOND, (False, True)):
        found.append(
            Reads(geometry, shape=_USUAL[geometry], linear=linear, normalized=True, beyond=beyond)
        )
    for geometry, linear in product(("3d", "a1d", "a2d"), (False, True)):
        found.append(Reads(geometry, shape=_USUAL[geometry], linear=linear))
    for type_, linear in product(("u1", "i1", "u2", "i2"), (False, True)):
        found.append(Reads("2d", type_, linear=linear, normalized=linear, beyond="wrap"))
    for type_ in ("u1", "i1", "u2", "i2", "u4", "i4"):
        found.append(Reads("2d", type_, as_float=False, count=256))
    for linear in (False, True):
        found.append(Reads("2d", "f2", linear=linear))
        found.append(Reads("2d", "u1", 4, linear=linear, normalized=True, beyond="mirror"))
        found.append(Reads("2d", "f4", 4, linear=linear, beyond="border"))
        found.append(Reads("2d", "f4", 2, linear=linear))
    found.append(Reads("2d", "u1", 4, as_float=False, count=256))
    for type_ in ("f4", "f2", "u1", "i1", "u2", "i2"):
        found.append(Reads("1d", type_, shape=(1, 1, 8), linear=True, texels="step",
                           places="fine"))  # fmt: skip
        found.append(Reads("2d", type_, shape=(1, 8, 8), linear=True, texels="corner",
                           places="close", count=2048))  # fmt: skip
    found.append(Reads("3d", shape=(8, 8, 8), linear=True, texels="corner", places="close"))
    for geometry, texels in product(("1d", "2d", "3d"), ("wide", "infinite")):
        found.append(Reads(geometry, shape=_USUAL[geometry], linear=True, texels=texels))
    for geometry in ("1d", "2d"):  # sides that are powers of two, and one that is long
        shape = (1, 1 if geometry == "1d" else 16, 64)
        for beyond in _BEYOND:
            found.append(Reads(geometry, shape=shape, linear=True, normalized=True, beyond=beyond))
        found.append(Reads(geometry, shape=(1, 1 if geometry == "1d" else 3, 1000), linear=True,
                           texels="normal"))  # fmt: skip
    for type_, numbers in (("f4", 1), ("f4", 4), ("u1", 1), ("i4", 1)):
        found.append(Reads("fetch", type_, numbers, (1, 1, 100), as_float=type_ != "i4",
                           count=256))  # fmt: skip
    return [
        one for one in found if (one.geometry, one.linear, one.beyond) != ("1d", True, "border")
    ]


def _more() -> list[Reads]:
    """Others, read when the rules had been found from the first."""
    found = []
    for type_, beyond in product(("f4", "f2", "u1", "i1", "u2", "i2"), ("clamp", "wrap")):
        found.append(Reads("3d", type_, shape=(6, 5, 11), linear=True, normalized=beyond == "wrap",
                           beyond=beyond, seed=1))  # fmt: skip
    for type_, numbers in (("u1", 4), ("i1", 2), ("u2", 2), ("i2", 4), ("f4", 4), ("u1", 1)):
        for beyond in ("border", "mirror"):
            found.append(Reads("2d", type_, numbers, (1, 13, 10), linear=True, normalized=True,
                               beyond=beyond, seed=2))  # fmt: skip
    for geometry, type_ in product(("a1d", "a2d"), ("u1", "f4", "i1")):
        found.append(Reads(geometry, type_, shape=_USUAL[geometry], linear=True, normalized=True,
                           beyond="mirror", seed=3))  # fmt: skip
    for geometry, beyond, linear, normalized in product(
        ("1d", "2d"), _BEYOND, (False, True), (False, True)
    ):
        shape = (1, 1, 50) if geometry == "1d" else (1, 21, 30)
        found.append(Reads(geometry, shape=shape, linear=linear, normalized=normalized,
                           beyond=beyond, places="odd", seed=4))  # fmt: skip
    for width, normalized, beyond in product((2000, 16384), (False, True), ("clamp", "mirror")):
        found.append(Reads("1d", shape=(1, 1, width), linear=True, normalized=normalized,
                           beyond=beyond, seed=5))  # fmt: skip
        found.append(Reads("2d", "u1", shape=(1, 3, width), linear=True, normalized=normalized,
                           beyond=beyond, seed=5))  # fmt: skip
    for texels, geometry in product(("wide", "infinite"), ("2d", "3d")):
        found.append(Reads(geometry, shape=(1, 9, 9) if geometry == "2d" else (4, 4, 9),
                           linear=True, texels=texels, normalized=True, beyond="wrap",
                           seed=6))  # fmt: skip
    found.append(Reads("2d", "f2", shape=(1, 9, 9), linear=True, texels="wide", seed=6))
    return found


READS = tuple(_reads())
MORE = tuple(_more())


@dataclass(frozen=True)
class Uses:
    """A kernel that reads one surface beyond its edges, and writes another."""

    geometry: str
    type: str
    numbers: int
    shape: tuple[int, int, int]
    mode: str
    """What an access beyond the edges does: Zero or Clamp."""
    count: int = 512

    @property
    def name(self) -> str:
        sides = "x".join(map(str, self.shape))
        return f"surface_{self.geometry}_{self.type}_{self.numbers}_{sides}_{self.mode}"

    @property
    def kernel(self) -> str:
        return self.name

    @property
    def source(self) -> str:
        type_ = f"{VECTORS[self.type]}{self.numbers}" if self.numbers > 1 else TYPES[self.type]
        part = {
            "1d": "surf1D", "2d": "surf2D", "3d": "surf3D", "a1d": "surf1DLayered",
            "a2d": "surf2DLayered",
        }[self.geometry]  # fmt: skip
        places = {
            "1d": "x * B", "2d": "x * B, y", "3d": "x * B, y, z", "a1d": "x * B, y",
            "a2d": "x * B, y, z",
        }[self.geometry].replace("B", f"int(sizeof({type_}))")  # fmt: skip
        mode = f"cudaBoundaryMode{self.mode}"
        return f"""extern "C" __global__ void {self.kernel}(
    cudaSurfaceObject_t s, cudaSurfaceObject_t w, const int* at, {type_}* o, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = at[6 * i], y = at[6 * i + 1], z = at[6 * i + 2];
    {type_} v = {part}read<{type_}>(s, {places}, {mode});
    o[i] = v;
    x = at[6 * i + 3], y = at[6 * i + 4], z = at[6 * i + 5];
    {part}write(v, w, {places}, {mode});
}}"""

    def image(self) -> Array:
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        shape = (*self.shape, self.numbers)
        if self.type.startswith("f"):
            return random.standard_normal(shape).astype(self.type)
        limits = np.iinfo(self.type)
        return random.integers(limits.min, limits.max, shape, self.type, endpoint=True)

    def at(self) -> Array:
        """Where each thread reads, and where it writes: no place is written twice."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()) ^ 1)
        depth, height, width = self.shape
        sides = [width, depth if self.geometry == "a1d" else height, 1]
        if self.geometry in ("3d", "a2d"):
            sides[2] = depth
        beyond = 3 if self.geometry in ("1d", "2d", "3d") else 0
        at = np.stack(
            [random.integers(-3 if axis == 0 else -beyond, side + (3 if axis == 0 else beyond),
                             self.count) for axis, side in enumerate(sides)], 1)  # fmt: skip
        inner = np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), -1).reshape(-1, 3)
        to = np.full((self.count, 3), -1)
        chosen = random.permutation(len(inner))[: min(len(inner), self.count)]
        to[: len(chosen)] = inner[chosen]
        if self.mode == "Clamp":  # beyond the edges all would meet at one place
            to[len(chosen) :] = to[0]
            at[len(chosen) :] = at[0]
        return np.ascontiguousarray(np.concatenate([at, to], 1).astype("i4"))


USES = tuple(
    Uses(geometry, type_, numbers, _USUAL[geometry], mode)
    for (geometry, type_, numbers), mode in product(
        (
            ("1d", "f4", 1), ("2d", "f4", 1), ("3d", "f4", 1), ("a1d", "i2", 1), ("a2d", "f4", 1),
            ("2d", "u1", 4), ("2d", "u1", 1), ("2d", "f4", 4), ("3d", "i2", 2),
        ),
        ("Zero", "Clamp"),
    )
)  # fmt: skip


def whole_source() -> str:
    """Every kernel once."""
    kernels = {one.kernel: one.source for one in (*READS, *MORE, *USES)}
    return "\n".join(kernels.values())
