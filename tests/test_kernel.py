"""A kernel file as an object, and what every kernel of the book must keep to."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgemm_lab.catalogue import file_name, is_builtin, load_kernel, load_kernel_file, load_kernels
from sgemm_lab.errors import LabError
from sgemm_lab.expression import compiled
from sgemm_lab.files import CHECKOUT
from sgemm_lab.kernel import Constant, Kernel, SourceLine, body_start, changed_lines, parse_kernel
from sgemm_lab.shared_code import inlined_lines
from sgemm_lab.tensor_map import TensorMap

SOURCE = """\
// title: A kernel
// parent: none
// change: One thing is new.
// chapter: 3
// grid: ceil(N / BN), ceil(M / BM)
// block: BM * BN / TM, 1
// shared: 4 * (BM + K)
// workspace: 8 * SMS + 4 * ceil(N / BN)
// needs: sm_80
// variants: BM=4 BM=16,TM=4
//
// What it does.

constexpr int BM = 8;   // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int TM = 2;  // rows of C per thread
constexpr int THREADS = BM * BN / TM;

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K)
{
}
"""

BOOK = load_kernels()
MAP = "mapA = fp16 workspace + 2 * N, M x K, pitch 16 * ceil(K / 8), box BM x BN, swizzle 128"
WRONG_MAPS = {
    MAP.replace("fp16", "fp8"): "Write it like",
    MAP.replace("workspace + 2 * N", ""): "Write it like",
    MAP.replace("16 * ceil(K / 8)", "2 * K"): "pitch .* no multiple of 16 bytes",
    MAP.replace("16 * ceil(K / 8)", "16"): "less than a row",
    MAP.replace("box BM", "box 257"): "no rows, more than 256 rows",
    MAP.replace("box BM", "box 0"): "no rows, more than 256 rows",
    MAP.replace("x BN", "x 4"): "rows that are no multiple of 16 bytes",
    MAP.replace("128", "64"): "less than a row of the box",
    MAP.replace("M x K", "M x Q"): "only whole numbers",
}


def with_map(*lines: str) -> str:
    """Return ``SOURCE`` with lines of tensor maps in its head."""
    return SOURCE.replace("// needs", "".join(f"// map: {line}\n" for line in lines) + "// needs")


def kernel(**fields: str) -> Kernel:
    """Return a kernel like ``SOURCE`` with other fields in its head."""
    source = SOURCE
    for name, text in fields.items():
        source = re.sub(rf"^// {name}: .+$", lambda _, n=name, t=text: f"// {n}: {t}", source,
                        flags=re.M)  # fmt: skip
    return parse_kernel("sample", source)


def test_head_comment_gives_the_fields() -> None:
    found = kernel()
    assert (found.title, found.parent, found.chapter) == ("A kernel", None, 3)
    assert found.change == "One thing is new."
    assert found.grid == ("ceil(N / BN)", "ceil(M / BM)")
    assert (found.needs, found.variants) == ("sm_80", ("BM=4", "BM=16,TM=4"))


def test_constants_have_value_and_label_and_derived_ones_are_none() -> None:
    assert kernel().constants == (
        Constant("BM", 8, "rows of C per block"),
        Constant("BN", 64, "columns of C per block"),
        Constant("TM", 2, "rows of C per thread"),
    )


HEADLESS = re.compile(r"^// (title|parent|chapter|grid|block): .+\n", re.M)


@pytest.mark.parametrize("field", ["title", "parent", "chapter", "grid", "block"])
def test_a_missing_field_is_named(field: str) -> None:
    source = HEADLESS.sub(lambda line: "" if line[1] == field else line[0], SOURCE)
    source += f"// {field}: 1\n"  # after the head it does not count
    with pytest.raises(LabError, match=rf"does not say its {field}\. Add a line '// {field}: …'"):
        parse_kernel("sample", source)


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("chapter", "three", "says 'chapter: three', not a number"),
        ("grid", "ceil(N / BN)", "It needs two terms: x, y"),
        ("grid", "ceil(N / BX), 1", "only whole numbers"),
        ("grid", "N % 4, 1", "only whole numbers"),
        ("grid", "ceil(N /), 1", "only whole numbers"),
        ("grid", "__import__('os'), 1", "only whole numbers"),
        ("grid", "ceil(N / 0), 1", "divides by zero"),
        ("grid", "BN / 7, 1", "not a whole number"),
        ("grid", "M - 1, 1", r"says 'M - 1' .+, which is 0 here\. It must be at least 1"),
    ],
)
def test_a_head_that_cannot_be_read_is_a_sentence(field: str, text: str, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        kernel(**{field: text}).launch_shape(1, 1, 1)


def test_block_and_shared_memory_follow_from_constants_and_sizes() -> None:
    shape = kernel().launch_shape(1, 1, 100)
    assert (shape.block, shape.threads, shape.shared_bytes) == ((256, 1), 256, 432)


def test_a_workspace_follows_from_the_gpu_and_the_sizes() -> None:
    assert kernel().launch_shape(1, 65, 1, sms=10).workspace_bytes == 8 * 10 + 4 * 2
    assert load_kernel("naive").launch_shape(1, 65, 1).workspace_bytes == 0


def test_tensor_maps_follow_from_constants_and_sizes() -> None:
    copied = "mapB = tf32 B or workspace + 256, K x N, pitch 4 * BM, box BM x 8, swizzle BN / TM"
    first, second = parse_kernel("x", with_map(MAP, copied)).launch_shape(3, 5, 17).maps
    assert first == TensorMap("mapA", "fp16", None, 10, 3, 17, 48, 8, 64, 128)
    assert second == TensorMap("mapB", "tf32", "B", 256, 17, 5, 32, 8, 8, 32)
    assert [one.address(64, 128, 4096) for one in (first, second)] == [4106, 4352]
    assert replace(second, columns=8).address(64, 128, 4096) == 128
    assert replace(second, columns=8).address(64, 132, 4096) == 4352
    assert replace(second, offset=None).address(64, 132, 4096) == 132


@pytest.mark.parametrize(("line", "sentence"), WRONG_MAPS.items())
def test_a_map_that_the_driver_would_refuse_is_a_sentence(line: str, sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        parse_kernel("x", with_map(line)).launch_shape(1, 1, 17)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_grid_covers_c_and_no_more(m: int, n: int) -> None:
    columns, rows = kernel().launch_shape(m, n, 1).grid
    assert (rows - 1) * 8 < m <= rows * 8
    assert (columns - 1) * 64 < n <= columns * 64


@pytest.mark.parametrize(("size", "name"), [((0, 1, 1), "M"), ((1, -3, 1), "N"), ((1, 1, 0), "K")])
def test_an_empty_matrix_has_no_launch_shape(size: tuple[int, int, int], name: str) -> None:
    with pytest.raises(LabError, match=rf"^{name} is .+ at least one row and one column"):
        kernel().launch_shape(*size)


def test_other_constants_are_written_into_the_source_and_lines_keep_their_numbers() -> None:
    changed = kernel().with_constants(BM=128, TM=4)
    assert changed.values == {"BM": 128, "BN": 64, "TM": 4}
    before, after = SOURCE.splitlines(), changed.source.splitlines()
    different = [i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert [after[i] for i in different] == [
        "constexpr int BM = 128;   // rows of C per block",
        "constexpr int TM = 4;  // rows of C per thread",
    ]
    assert changed.launch_shape(128, 64, 1).block == (2048, 1)


def test_a_name_tells_the_constants_that_differ_from_the_book() -> None:
    tiled = load_kernel("tiled")
    small = tiled.with_constants(TILE=16)
    assert small.name == "tiled:TILE=16"
    assert load_kernel("tiled:TILE=16") == small
    assert small.with_constants(TILE=32) == tiled


@pytest.mark.parametrize(
    ("values", "sentence"),
    [({"XM": 4}, "has no constant 'XM'. It has BM, BN, TM"), ({"BM": 0}, "BM is 0.*at least 1")],
)
def test_a_constant_that_cannot_be_set_is_a_sentence(values: dict[str, int], sentence: str) -> None:
    with pytest.raises(LabError, match=sentence):
        kernel().with_constants(**values)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tild", "There is no kernel called 'tild'. Did you mean 'tiled'?"),
        ("registercache", "Did you mean 'register_cache'?"),
        ("zzzz", "There are: naive_rows, "),
        ("tiled:TILE", "cannot be read. Write it like 'tiled:TILE=16'"),
        ("tiled:TILE=²", "cannot be read"),
        ("tiled:TILE=-4", "cannot be read"),
        ("tiled:BM=4", "has no constant 'BM'"),
    ],
)
def test_an_unknown_name_gets_the_nearest(name: str, sentence: str) -> None:
    with pytest.raises(LabError, match=re.escape(sentence)):
        load_kernel(name)


def test_variants_stand_behind_their_kernel() -> None:
    names = [k.name for k in load_kernels(variants=True)]
    assert names[names.index("tiled") + 1] == "tiled:TILE=16"
    assert [name for name in names if ":" not in name] == [k.name for k in BOOK]


def lines_against_parent(kernel: Kernel) -> list[SourceLine]:
    return kernel.lines_against(load_kernel(kernel.parent) if kernel.parent else None)


def test_changed_lines_ignore_head_blank_lines_and_white_space() -> None:
    parent = "// title: a\nint x;\nint y;\nint z;\n"
    child = "// title: b\n// more\n\nint x;\n    int   y;\nint new;\nint z;\n"
    assert changed_lines(parent, child) == {6}


# What every kernel of the book keeps to.

each_kernel = pytest.mark.parametrize("kernel", BOOK, ids=lambda k: k.name)

ANEW = {
    "one_row": "It is for C of one row: of its parent, with which it is compared, little more than "
    "the multiply-add can stay.",
    "wgmma_fp16": "Both factors come from shared memory, a first pass rounds, and TMA stores C.",
    "wgmma_3xfp16": "Its first pass scales and splits A and B, and a K tile has its own sums.",
    "wgmma_minimal": "Its instruction takes B from registers, A from shared memory in a layout of "
    "its own, and 128 sums of each thread: no line of a kernel before it does so.",
}
"""Kernels that begin anew, since no small step leads to their instruction, and why."""


TOGETHER = {
    "double_buffer": (50, "Stores of C as float4 make no difference, and need a function."),
    "warp_tile": (70, "A larger thread tile loses what only unrolling, in the next step, gains."),
    "async_copy": (80, "A and B are copied past the registers alike."),
    "producers": (80, "Producer warps need mbarriers, and mbarriers pay only with them."),
    "split_k": (80, "Many parts of K pay only if several threads add them up together."),
    "unaligned_rows": (
        60,
        "The store needs the copies to place columns, and no cluster to add sums.",
    ),
    "promoted": (70, "Three products reach the error of FP32 only with promoted sums."),
    "stream_k": (80, "An even split needs blocks that go from tile to tile."),
    "wgmma_tf32": (60, "More than half of its new lines are helpers from device.cuh."),
    "per_warp_stages": (
        100,
        "Where a warp fills a stage alone, it tests its bounds once. A variant orders the tiles.",
    ),
}
"""Kernels whose step has parts of which one alone loses or gains nothing: how many lines, and why.
"""


@each_kernel
def test_parent_comes_earlier_and_is_measured_too(kernel: Kernel) -> None:
    everything = [k.name for k in load_kernels(variants=True)]
    earlier = everything[: everything.index(kernel.name)]
    assert kernel.parent in earlier or (kernel.parent is None and not earlier)


@each_kernel
def test_a_kernel_differs_from_its_parent_by_one_idea(kernel: Kernel) -> None:
    if kernel.name not in ANEW:
        most, _ = TOGETHER.get(kernel.name, (40, ""))
        inlined = inlined_lines(kernel.source)
        changed = {line.number for line in lines_against_parent(kernel) if line.changed}
        assert len(changed - {inlined.start, inlined.stop - 1}) <= most


@each_kernel
def test_lines_fit_the_page(kernel: Kernel) -> None:
    """A listing leaves the head comment out; its lines fit the page where that is 1280 px wide."""
    lines, inlined = kernel.source.splitlines(), inlined_lines(kernel.source)
    shown = [line for i, line in enumerate(lines, 1) if i not in inlined and "// map: " not in line]
    assert max(map(len, shown)) <= 102
    assert max(map(len, shown[body_start(kernel.source) - len(kernel.maps) :])) <= 96


@each_kernel
def test_every_kernel_has_the_one_signature(kernel: Kernel) -> None:
    arguments = r"const float\* A, const float\* B, float\* C, int M, int N, int K"
    attributes = r"(__cluster_dims__\(\w+, 1, 1\) )?(__launch_bounds__\([^)]+\) )?"
    maps = "".join(rf", const __grid_constant__ TensorMap {one.split()[0]}" for one in kernel.maps)
    found = re.search(
        rf'extern "C" __global__ void {attributes}sgemm\({arguments}(?P<own>, \w+\* \w+)?{maps}\)',
        " ".join(kernel.source.split()),
    )
    assert found is not None
    assert bool(found["own"]) == (kernel.launch_shape(64, 64, 64).workspace_bytes > 0)


def test_file_names_carry_name_and_a_number_of_their_own() -> None:
    names = [file_name(kernel) for kernel in BOOK]
    assert all(
        re.fullmatch(rf"\d{{3}}_{kernel.name}\.cu", name)
        for kernel, name in zip(BOOK, names, strict=True)
    )
    numbers = [name.partition("_")[0] for name in names]
    assert sorted(set(numbers)) == numbers


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of kernels in place of the book's."""
    monkeypatch.setenv("SGEMM_LAB_DATA", str(tmp_path))
    (tmp_path / "kernels").mkdir()
    return tmp_path / "kernels"


def put(folder: Path, *names: str) -> None:
    source = load_kernel_file(CHECKOUT / "kernels" / "030_tiled.cu").source
    for name in names:
        (folder / name).write_text(source, encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "sentence"),
    [(["tiled.cu"], r"has no place among the kernels\. Call it NN_tiled\.cu"),
     (["01_one.cu", "02_one.cu"], "Two files in .+ are called 'one'. Rename one of them")],
)  # fmt: skip
def test_a_file_without_a_place_of_its_own_is_a_sentence(
    files: list[str], sentence: str, kernels: Path
) -> None:
    put(kernels, *files)
    with pytest.raises(LabError, match=sentence):
        load_kernels()


def test_a_file_is_the_books_kernel_only_if_its_code_is(tmp_path: Path) -> None:
    tiled = load_kernel("tiled")
    for name in ("tiled.cu", "030_tiled.cu"):
        path = tmp_path / name
        path.write_text(tiled.source.replace("// rows and columns of a tile", "// edge of a tile"))
        assert load_kernel_file(path) == tiled
        path.write_text(tiled.source.replace("acc = 0.0f", "acc = 1.0f"))
        edited = load_kernel_file(path)
        assert edited.name == "tiled.cu"
        assert not is_builtin(edited)
    other = tmp_path / "mine.cu"
    other.write_text(tiled.source)
    assert load_kernel_file(other).name == "mine"


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.cu"
    path.write_text(load_kernel("tiled").source, encoding="utf-8-sig")
    assert load_kernel_file(path).source == load_kernel("tiled").source


def test_chapters_come_in_order() -> None:
    chapters = [k.chapter for k in BOOK]
    assert chapters == sorted(chapters)
    assert min(chapters) >= 1


def test_a_fingerprint_ignores_comments_and_white_space_alone() -> None:
    tiled = load_kernel("tiled")
    same = parse_kernel(tiled.name,
        tiled.source.replace("// rows of A", "// lines of A")
        .replace("float acc = 0.0f;", "float  acc\n    = 0.0f; /* the sum,\n so far */")
    )  # fmt: skip
    assert same.fingerprint == tiled.fingerprint
    other = parse_kernel(tiled.name, tiled.source.replace("acc = 0.0f", "acc = 1.0f"))
    assert other.fingerprint != tiled.fingerprint
    assert tiled.with_constants(TILE=16).fingerprint != tiled.fingerprint


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("tiled", "tiled"),
        ("tiled:TILE=16", "tiled, TILE = 16"),
        ("thread_tile_1d:BK=8", "thread_tile_1d, BK = 8"),
        ("register_cache:BM=128,TM=8", "register_cache 8 × 4"),
        ("one_row:TM=4", "one_row, TM = 4"),
        ("register_cache:BM=128,BN=128,TM=8,TN=8", "register_cache 8 × 8"),
        ("register_cache:BM=128,BN=128,BK=16,TM=8,TN=8", "register_cache 8 × 8, BK = 16"),
        ("mma_tf32:BM=64,BN=128,BK=32,TN=8,WN=32", "mma_tf32 64 × 128, BK = 32"),
        ("wgmma_fp16:INPUT=16", "wgmma_fp16, FP16 inputs"),
    ],
)
def test_a_kernel_is_called_by_the_size_of_its_tile(name: str, called: str) -> None:
    kernel = load_kernel(name)
    assert kernel.display_name == called
    assert kernel.display_title == kernel.title + called.removeprefix(kernel.base_name)


@given(
    st.sampled_from(load_kernels(variants=True)),
    st.tuples(*(st.integers(1, 20_000) for _ in range(3))),
    st.integers(1, 200),
)
def test_compiled_launch_shapes_are_exact(
    kernel: Kernel, size: tuple[int, int, int], sms: int
) -> None:
    names = {**kernel.values, **dict(zip("MNK", size, strict=True)), "SMS": sms}
    texts = (*kernel.grid, *kernel.block, kernel.shared, kernel.workspace)
    shape = kernel.launch_shape(*size, sms=sms)
    found = (*shape.grid, *shape.block, shape.shared_bytes, shape.workspace_bytes)
    assert found == tuple(compiled(text, names, ())() for text in texts)
