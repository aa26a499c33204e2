"""Textures and surfaces as arguments: told by the reader, or assumed from the file."""

from pathlib import Path

import pytest
from turns import TODAY

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.count import ExternalRun, count_external
from sgemm_lab.external_cuda.cuda_file import Pasted
from sgemm_lab.external_cuda.launch import ExternalKernel

TURN = """
__global__ void turn(cudaTextureObject_t image, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[x * height + y] = tex2D<float>(image, x + 0.5f, y + 0.5f);
}
"""
HOST = """
int main() {
    cudaTextureDesc d;
    d.addressMode[0] = cudaAddressModeMirror;
    d.filterMode = cudaFilterModeLinear;
    d.readMode = cudaReadModeElementType;
    d.normalizedCoords = 1;
}
"""


def counted(source: str, arguments: str | None = None, expect: tuple[str, ...] = ()) -> ExternalRun:
    kernel = ExternalKernel(Pasted("k.cu", source, Path()), (), (), arguments=arguments)
    return count_external(kernel, (64, 64, 64), expect=expect)


def given(done: ExternalRun) -> str:
    return done.arguments


@pytest.mark.parametrize("mode", ["", ":linear"])
def test_a_texture_that_the_reader_gives_is_read_and_judged(mode: str) -> None:
    """In the middle of an element a filter reads that element alone."""
    done = counted(
        TURN,
        f"image:texture:width:height{mode} out:out:width*height width=24 height=16",
        ("out = transpose(reshape(image, 16, 24))",),
    )
    assert not done.wrong
    assert done.result.hazards == []
    wrong = counted(
        TURN.replace("x + 0.5f", "x + 1.5f"),
        "image:texture:width:height out:out:width*height width=24 height=16",
        ("out = transpose(reshape(image, 16, 24))",),
    )
    assert wrong.wrong


def test_a_surface_is_an_array_that_is_judged() -> None:
    source = """__global__ void fill(cudaSurfaceObject_t s, const float* x, int w) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        surf2Dwrite(2 * x[i], s, i % w * 4, i / w);
    }"""
    arguments = "s:surface:w:8 x:in:8*w w=32"
    assert not counted(source, arguments, ("s = 2 * x",)).wrong
    beyond = counted(source.replace("i / w", "i / w + 1"), arguments)
    assert "of the surface s, which has 8 rows of 128 bytes" in str(beyond.result.hazards[0])


def test_what_a_file_says_of_its_textures_is_assumed() -> None:
    assert "image:texture:64:64:float " in given(counted(TURN))
    assert "image:texture:64:64:float:linear:normalized:mirror" in given(counted(TURN + HOST))
    small = HOST.replace("cudaReadModeElementType", "cudaReadModeNormalizedFloat")
    assert "image:texture:64:64:uchar:linear:normalized:mirror" in given(counted(TURN + small))


@pytest.mark.parametrize(
    ("body", "image"),
    [
        ("x[i] = tex2D<unsigned char>(t, i, 0);", "t:texture:64:64:uchar"),
        ("x[i] = tex3D<float4>(t, i, 0, 0).y;", "t:texture:64:64:8:float4"),
        ("x[i] = tex2DLayered<int>(t, i, 0, 1);", "t:texture:64:64:8:int"),
        ("x[i] = tex1Dfetch<float2>(t, i).x;", "t:texture:4096:float2"),
    ],
)
@pytest.mark.sampled(every=2, first=TODAY)
def test_element_and_sides_are_those_of_the_call(body: str, image: str) -> None:
    done = counted(
        "__global__ void k(float* x, cudaTextureObject_t t, int n) {"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ {body} }} }}"
    )
    assert image in given(done).split()
    # What was assumed can be said again.
    assert not counted("__global__ void k(float* x, cudaTextureObject_t t, int n) {"
                       f" int i = threadIdx.x; if (i < n) {{ {body} }} }}",
                       f"x:out:n {image} n=64").result.hazards  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("3 out:out:64 8 8", "takes a texture .* Write it like image:texture:64:64:float"),
        ("image:surface:8:8 out:out:64 8 8", "takes a texture"),
        ("image:texture:8:8 out:texture:8:8 8 8", "takes no texture or surface"),
    ],
)
def test_arguments_that_do_not_fit_are_a_sentence(arguments: str, reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        counted(TURN, arguments)


def test_a_texture_may_be_a_field_of_a_struct() -> None:
    source = """struct Scene { int width; cudaTextureObject_t image; float* out; };
    __global__ void k(Scene s) {
        int i = threadIdx.x;
        if (i < s.width) s.out[i] = tex2D<float>(s.image, i, 0);
    }"""
    done = counted(source, "width=32 image:texture:32:2 out:out:32", ("out = image[:32]",))
    assert not done.wrong
    assert "s_image:texture:4096:64:float" in given(counted(source))
