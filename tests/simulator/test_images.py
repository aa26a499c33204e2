"""Textures and surfaces: what a place stands for, as NVIDIA's programming guide tells it."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from simulator_kernels import ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result, simulate
from sgemm_lab.simulator.hazards import MISALIGNED, OUT_OF_BOUNDS, RACE
from sgemm_lab.simulator.images import Sampling

HEIGHT, WIDTH = 5, 7


def image(type_: str = "f4", *, depth: int = 1, numbers: int = 1) -> npt.NDArray[Any]:
    """Elements that are all different."""
    count = depth * HEIGHT * WIDTH * numbers
    return (np.arange(count) * 3 % 251).astype(type_).reshape(depth, HEIGHT, WIDTH, numbers)


def read(
    expression: str,
    places: list[tuple[float, ...]],
    texture: npt.NDArray[Any],
    sampling: Sampling | None = None,
) -> list[float]:
    """What each thread reads, at a place of its own: x, y and z in the expression."""
    source = f"""extern "C" __global__ void k(cudaTextureObject_t t, const float* at, float* o) {{
        int i = threadIdx.x; float x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2];
        o[i] = {expression};
    }}"""
    at = np.array([(*place, 0, 0)[:3] for place in places], "f4")
    found = simulate(
        ptx_of(source), "k", (1,), (len(places),),
        {"t": texture, "at": at, "o": np.zeros(len(places), "f4")},
        images={"t": sampling or Sampling()},
    )  # fmt: skip
    assert found.hazards == []
    return [float(number) for number in found.arrays["o"]]


INSIDE = [(0.0, 0.0), (0.99, 4.5), (6.5, 4.99), (3.0, 2.0), (5.999, 0.001)]
OUTSIDE = [(-0.5, 2.0), (7.0, 2.0), (1e9, -1e9), (3.0, 5.5)]


def test_a_point_is_the_element_in_which_it_lies() -> None:
    texture = image()
    right = [float(texture[0, math.floor(y), math.floor(x), 0]) for x, y in INSIDE]
    assert read("tex2D<float>(t, x, y)", INSIDE, texture) == right


def test_beyond_the_edges_lies_the_last_element_or_zeros() -> None:
    texture = image()
    last = [
        float(texture[0, min(max(math.floor(y), 0), 4), min(max(math.floor(x), 0), 6), 0])
        for x, y in OUTSIDE
    ]
    assert read("tex2D<float>(t, x, y)", OUTSIDE, texture) == last
    # As the guide has it, only places from 0 to 1 wrap.
    assert read("tex2D<float>(t, x, y)", OUTSIDE, texture, Sampling(beyond="wrap")) == last
    zeros = read("tex2D<float>(t, x, y)", OUTSIDE, texture, Sampling(beyond="border"))
    assert zeros == [0, 0, 0, 0]


def test_places_from_0_to_1_wrap_and_mirror() -> None:
    texture = image()
    places = [((x + 0.5) / WIDTH, 0.1) for x in (-8, -1, 0, 6, 7, 15)]
    row = texture[0, 0, :, 0]
    wrap = Sampling(normalized=True, beyond="wrap")
    assert read("tex2D<float>(t, x, y)", places, texture, wrap) == [
        row[i] for i in (6, 6, 0, 6, 0, 1)
    ]
    mirror = Sampling(normalized=True, beyond="mirror")
    assert read("tex2D<float>(t, x, y)", places, texture, mirror) == [
        row[i] for i in (6, 0, 0, 6, 6, 1)
    ]


def test_a_filter_mixes_neighbours_in_parts_of_256() -> None:
    texture = image()
    linear = Sampling(linear=True)
    grid = texture[0, :, :, 0].astype("f8")
    # The middle of an element is half way from its start: there it counts alone.
    assert read("tex2D<float>(t, x, y)", [(2.5, 3.5)], texture, linear) == [grid[3, 2]]
    (half,) = read("tex2D<float>(t, x, y)", [(3.0, 3.5)], texture, linear)
    assert half == (grid[3, 2] + grid[3, 3]) / 2
    (four,) = read("tex2D<float>(t, x, y)", [(3.0, 2.25)], texture, linear)
    above, below = (grid[1, 2] + grid[1, 3]) / 2, (grid[2, 2] + grid[2, 3]) / 2
    assert four == 0.25 * above + 0.75 * below
    # 1/1000 of an element is less than half of 1/256.
    assert read("tex2D<float>(t, x, y)", [(2.501, 3.5)], texture, linear) == [grid[3, 2]]
    # At an edge the neighbour is the last element again.
    assert read("tex2D<float>(t, x, y)", [(0.0, 3.5)], texture, linear) == [grid[3, 0]]
    border = Sampling(linear=True, beyond="border")
    assert read("tex2D<float>(t, x, y)", [(0.0, 3.5)], texture, border) == [grid[3, 0] / 2]


def test_lines_volumes_and_layers() -> None:
    line, volume = image()[:, :1], image(depth=3)
    assert read("tex1D<float>(t, x)", [(2.9,)], line) == [line[0, 0, 2, 0]]
    assert read("tex3D<float>(t, x, y, z)", [(2.9, 1.0, 2.2)], volume) == [volume[2, 1, 2, 0]]
    layered = read("tex2DLayered<float>(t, x, y, int(z))", [(2.9, 1, 1), (1, 1, 9)], volume)
    assert layered == [volume[1, 1, 2, 0], volume[2, 1, 1, 0]]
    lines = volume.reshape(15, 1, WIDTH, 1)
    assert read("tex1DLayered<float>(t, x, int(y))", [(4.0, 6)], lines) == [lines[6, 0, 4, 0]]
    between = read("tex3D<float>(t, x, y, z)", [(2.5, 1.5, 1.0)], volume, Sampling(linear=True))
    assert between == [(volume[0, 1, 2, 0] + volume[1, 1, 2, 0]) / 2]


def test_an_index_reads_plain_memory_and_zeros_beyond_it() -> None:
    texture = image(numbers=4)[:, :1]
    assert read("tex1Dfetch<float4>(t, int(x)).z", [(3,), (7,), (-1,)], texture) == [
        texture[0, 0, 3, 2], 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "said", "of"),
    [
        ("u1", "unsigned char", 255),
        ("i1", "signed char", 127),
        ("u2", "unsigned short", 65535),
        ("i4", "int", 0),
        ("f2", "float", 0),
    ],
)
def test_elements_of_every_type(type_: str, said: str, of: int) -> None:
    texture = image(type_)
    value = float(texture[0, 2, 3, 0])
    assert read(f"tex2D<{said}>(t, x, y)", [(3, 2)], texture) == [value]
    if of:  # asked for as a float, a small whole number is a fraction
        assert read("tex2D<float>(t, x, y)", [(3, 2)], texture) == [np.float32(value / of)]


def surface(body: str, out: npt.NDArray[Any], threads: int = 32, blocks: int = 1) -> Result:
    source = f"""extern "C" __global__ void k(cudaSurfaceObject_t s, float* o) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x; {body}
    }}"""
    return simulate(
        ptx_of(source), "k", (blocks,), (threads,),
        {"s": out, "o": np.zeros(threads * blocks, "f4")},
        images={"s": Sampling()}, watch_races_in=["s"],
    )  # fmt: skip


def test_a_surface_is_written_and_read_by_bytes() -> None:
    before = np.zeros((1, 4, 8, 1), "f4")
    done = surface("surf2Dwrite(i + 0.5f, s, i % 8 * 4, i / 8);", before)
    assert done.arrays["s"].ravel().tolist() == [i + 0.5 for i in range(32)]
    assert done.hazards == []
    # Its requests are none of global memory.
    assert done.counts.total.global_store_requests == 0
    again = surface("o[i] = surf2Dread<float>(s, (31 - i) % 8 * 4, (31 - i) / 8);",
                    done.arrays["s"])  # fmt: skip
    assert again.arrays["o"].tolist() == [31 - i + 0.5 for i in range(32)]


def test_vectors_small_numbers_and_layers_of_surfaces() -> None:
    bytes_ = np.zeros((1, 4, 8, 4), "u1")
    done = surface("surf2Dwrite(make_uchar4(i, 2, 3, 255), s, i % 8 * 4, i / 8);", bytes_)
    assert done.arrays["s"].reshape(32, 4).tolist() == [[i, 2, 3, 255] for i in range(32)]
    layers = np.zeros((4, 2, 4, 1), "i2")
    done = surface("surf2DLayeredwrite(short(-i), s, i % 4 * 2, i / 4 % 2, i / 8);", layers)
    assert done.arrays["s"].ravel().tolist() == [-i for i in range(32)]
    done = surface("surf3Dwrite(short(-i), s, i % 4 * 2, i / 4 % 2, i / 8);", layers)
    assert done.arrays["s"].ravel().tolist() == [-i for i in range(32)]
    done = surface("o[i] = surf1Dread<unsigned char>(s, i);", np.arange(200, 232, dtype="u1")
                   .reshape(1, 1, 32, 1))  # fmt: skip
    assert done.arrays["o"].tolist() == list(range(200, 232))


def test_beyond_a_surface_is_a_hazard_unless_the_kernel_says_otherwise() -> None:
    rows = np.zeros((1, 4, 7, 1), "f4")
    done = surface("surf2Dwrite(1.f, s, i % 8 * 4, i / 8);", rows)
    (hazard,) = done.hazards
    assert hazard.kind == OUT_OF_BOUNDS
    assert (
        "thread 7 of block 0 writes byte 28 of row 0 of the surface s, which has 4 rows of 28"
        in (str(hazard))
    )
    assert done.arrays["s"].sum() == 28
    zero = "surf2Dwrite(1.f, s, i % 8 * 4, i / 8, cudaBoundaryModeZero);"
    assert surface(zero, rows).hazards == []
    clamp = surface("o[i] = surf2Dread<float>(s, (i - 1) * 4, 0, cudaBoundaryModeClamp);",
                    image()[:, :1])  # fmt: skip
    line = image()[0, 0, :, 0]
    assert clamp.arrays["o"].tolist() == [line[min(max(i - 1, 0), 6)] for i in range(32)]
    assert clamp.hazards == []


def test_places_of_a_surface_that_are_no_bytes_and_races() -> None:
    rows = np.zeros((1, 4, 8, 1), "f4")
    (crooked,) = surface("surf2Dwrite(1.f, s, i % 8, i / 8);", rows, 2).hazards
    assert crooked.kind == MISALIGNED
    races = surface("surf2Dwrite(float(i), s, threadIdx.x % 8 * 4, 1);", rows, 8, 2).hazards
    assert {hazard.kind for hazard in races} == {RACE}


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("tex2DLod<float>(t, 0.5f, 0.5f, 1.f)", "several sizes"),
        ("texCubemap<float>(t, 1.f, 0.f, 0.f)", "a cube map"),
        ("tex2Dgather<float4>(t, 0.5f, 0.5f, 1).x", "four elements of a texture at once"),
    ],
)
def test_what_stays_out_is_told_with_the_readers_line(call: str, what: str) -> None:
    source = f"""extern "C" __global__ void k(cudaTextureObject_t t, float* o) {{
    o[threadIdx.x] = {call};
}}"""
    with pytest.raises(LabError, match=rf"{what}.* at test\.cu, line 2"):
        simulate(ptx_of(source), "k", (1,), (32,), {"t": image(), "o": np.zeros(32, "f4")},
                 images={"t": Sampling()})  # fmt: skip


def test_a_number_that_stands_for_no_texture_is_a_sentence() -> None:
    source = """extern "C" __global__ void k(cudaTextureObject_t t, float* o) {
    o[threadIdx.x] = tex2D<float>(t, 0.5f, 0.5f);
}"""
    with pytest.raises(LabError, match=r"at test\.cu, line 2 is none of the kernel's arguments"):
        simulate(ptx_of(source), "k", (1,), (32,), {"t": 3, "o": np.zeros(32, "f4")})
