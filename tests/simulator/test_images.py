"""Textures and surfaces: what a place stands for, as NVIDIA's programming guide tells it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from simulator_kernels import SURFACE, ptx_of

from sgemm_lab.errors import LabError
from sgemm_lab.simulator import Result, simulate
from sgemm_lab.simulator.hazards import MISALIGNED, OUT_OF_BOUNDS, RACE

HEIGHT, WIDTH = 5, 7


def image(type_: str = "f4", *, depth: int = 1, numbers: int = 1) -> npt.NDArray[Any]:
    """Elements that are all different."""
    count = depth * HEIGHT * WIDTH * numbers
    return (np.arange(count) * 3 % 251).astype(type_).reshape(depth, HEIGHT, WIDTH, numbers)


def read(
    expression: str, places: list[tuple[float, ...]], texture: npt.NDArray[Any]
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
        images={"t": SURFACE},
    )  # fmt: skip
    assert found.hazards == []
    return [float(number) for number in found.arrays["o"]]


def test_an_index_reads_plain_memory_and_zeros_beyond_it() -> None:
    texture = image(numbers=4)[:, :1]
    assert read("tex1Dfetch<float4>(t, int(x)).z", [(3,), (7,), (-1,)], texture) == [
        texture[0, 0, 3, 2], 0, 0,
    ]  # fmt: skip


def surface(body: str, out: npt.NDArray[Any], threads: int = 32, blocks: int = 1) -> Result:
    source = f"""extern "C" __global__ void k(cudaSurfaceObject_t s, float* o) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x; {body}
    }}"""
    return simulate(
        ptx_of(source), "k", (blocks,), (threads,),
        {"s": out, "o": np.zeros(threads * blocks, "f4")},
        images={"s": SURFACE}, watch_races_in=["s"],
    )  # fmt: skip


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
                 images={"t": SURFACE})  # fmt: skip


def test_a_number_that_stands_for_no_texture_is_a_sentence() -> None:
    source = """extern "C" __global__ void k(cudaTextureObject_t t, float* o) {
    o[threadIdx.x] = tex2D<float>(t, 0.5f, 0.5f);
}"""
    with pytest.raises(LabError, match=r"at test\.cu, line 2 is not an argument of the kernel"):
        simulate(ptx_of(source), "k", (1,), (32,), {"t": 3, "o": np.zeros(32, "f4")})
