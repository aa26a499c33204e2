"""The file's own main is followed: what it launches, compares and prints."""

from pathlib import Path

import pytest
from file_reports import checked, errors, followed, program_text
from turns import TAKES_TURNS, TODAY

from sgemm_lab.cuda.code_cache import FOLDER
from sgemm_lab.external_cuda import ExternalKernel, Pasted, check_file
from sgemm_lab.external_cuda.cuda_file import read_sources
from sgemm_lab.external_cuda.program import HEADERS, follow_program

pytestmark = TAKES_TURNS

SCALE, LINES, TABLE, MARK, PARTS = map(program_text, ("scale", "lines", "table", "mark", "parts"))
HALVES, OWN_SHARED, LIBRARY, STREAMS, BUFFER = map(
    program_text, ("halves", "own_shared", "library", "streams", "buffer")
)
MANAGED, VARIABLES, VIEWS, PRODUCTS, STAGED = map(
    program_text, ("managed", "variables", "views", "products", "staged")
)

MARK_VARIABLE = (
    MARK.replace("__global__", "__device__ int level[300];\n__global__")
    .replace("int *level, ", "")
    .replace("(d, 300", "(300")
    .replace("cudaMemcpy(d, h,", "cudaMemcpyToSymbol(level, h,")
    .replace("sizeof(h), cudaMemcpyHostToDevice", "sizeof(h)")
    .replace("cudaMemcpy(h, d,", "cudaMemcpyFromSymbol(h, level,")
    .replace("sizeof(h), cudaMemcpyDeviceToHost", "sizeof(h)")
)
GENERIC = SCALE.replace("<cstdio>", "<cuda/std/limits>\ntemplate <class T> struct Of { T x; };")
GENERIC = GENERIC.replace("const float *x", "const Of<float> *x").replace("x[i];", "x[i].x;")
SMALLEST = "Of<float> *x; float *y; *h = cuda::std::numeric_limits<float>::min()"
GENERIC = GENERIC.replace("float *x, *y", SMALLEST)
LARGE_COPY = (
    "char *z; cudaMalloc(&z, 1 << 28);"
    "cudaMemcpy(z, new char[1 << 28], 1 << 28, cudaMemcpyHostToDevice); scale<<<dim3(8, 70000),"
)
IN_C = SCALE.replace("__global__", 'extern "C" __global__').replace("return bad != 0", "return 1")
FILLED = "(size_t)ROWS * DIM);\n    cudaMemcpy(ids"
MORE = "(size_t)ROWS * DIM); cudaMemcpy(table + (1L << 31), h, 16, cudaMemcpyHostToDevice);\n"
COPIED = TABLE.replace(FILLED, MORE + "cudaMemcpy(ids")


EXTENDED = (
    "cudaLaunchAttribute all[1]; all[0].id = cudaLaunchAttributeCooperative; all[0].val.cooperative"
    "= 1; cudaLaunchConfig_t c = {2113, 128, 0, 0, all, 1}; cudaLaunchKernelEx(&c, scale, x, y, n);"
)
# A kernel that takes too long fills the table, so nobody knows what is in it.
UNKNOWN = TABLE.replace("cudaMemset(table, 3, (size_t)ROWS * DIM)", "fill<<<ROWS, 512>>>(table)")
FILL = "void fill(signed char *t) { t[(size_t)blockIdx.x * DIM + threadIdx.x] = 1; }\n__global__"
UNKNOWN = UNKNOWN.replace("__global__", f"__global__ {FILL}")
WIDE = SCALE.replace("int i = blockIdx.x", "size_t i = (size_t)blockIdx.x")
WIDE = WIDE.replace("(n + 127) / 128, 128", "1 << 23, 512")
HUGE = UNKNOWN.replace("600000", "3000000")
CHAINED, TURNED = map(program_text, ("chain", "turned"))
ALL_WAIT = CHAINED.replace("blockIdx.x > 0", "blockIdx.x + 1 < gridDim.x").replace(
    "<<<4", "<<<4000"
)
ALL_WAIT = ALL_WAIT.replace("[blockIdx.x - 1]", "[gridDim.x - 1]").replace(", 16", ", 1 << 19")
ALL_WAIT = ALL_WAIT.replace("flag, 0, 16", "flag, 0, 1 << 19").replace(", 512", ", 1 << 20")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long is given up sooner than for a reader."""
    monkeypatch.setattr("sgemm_lab.external_cuda.program.SECONDS", 1.0)


@pytest.fixture
def patient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long before the first launch, or in many, is followed on a busy machine too."""
    monkeypatch.setattr("sgemm_lab.external_cuda.program.SECONDS", 3.0)


LARGE = SCALE.replace("n = 1000;", "n = 1 << 24;")
LONG = SCALE.replace("n = 1000;", "n = 1 << 19;").replace(
    "y[i] = 2.0f * x[i]", "for (int k = 0; k < n; k++) y[i] += x[k]"
)


@pytest.mark.parametrize(
    "text", [SCALE, GENERIC, LINES, TABLE, MARK, MARK_VARIABLE, PARTS, HALVES, OWN_SHARED, IN_C]
)
@pytest.mark.sampled(every=6, first=TODAY)
def test_nothing_is_found_in_a_right_program(text: str) -> None:
    program = followed(text)
    assert not program["stopped"]
    assert errors(program) == []


def test_headers_are_read_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    written = []
    for _ in range(2):
        monkeypatch.setattr("sgemm_lab.simulator.worker._idle", [])
        assert not followed(HALVES)["stopped"]
        written.append((tmp_path / HEADERS).stat().st_mtime_ns)
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("text", "right", "wrong", "says"),
    [
        (SCALE, "(n + 127) / 128", "n / 128", "element 896 of r, a copy of y. Nothing has written"),
        (SCALE, "(n + 127) / 128", "n / 128", "104 bad"),
        (SCALE, "i < n)", "i <= n)", "element 1000 of x, which has 1000 elements"),
        (SCALE, "2.0f * x[i]", "x[i] + x[i / 2]", "ends with status 1"),
        (SCALE, "/ 128, 128>>>", "/ 128, 2048>>>", "a block of 2048 threads is too large"),
        (SCALE, "void scale", "void __launch_bounds__(64) scale", "Line 14: scale is not"),
        (SCALE, "scale<<<(n + 127) / 128,", LARGE_COPY, "70000 blocks along y are too many"),
        (SCALE, "128>>>", "128, 50000>>>", "need cudaFuncSetAttribute"),
        (SCALE, "scale<<<(n + 127) / 128, 128>>>(x, y, n);", EXTENDED, "an H200 has 2112 of them"),
        (UNKNOWN, "size_t base = (size_t)", "int base = ", "element -"),
        (HUGE, "size_t base = (size_t)", "int base = ", "element -"),
        (UNKNOWN, "gather<<<4,", "gather<<<dim3(4, 65536),", "65536 blocks along y are too many"),
        (WIDE, "if (i < n) ", "", "which has 1000 elements"),
        (TURNED, "()", "()", "reads tile[2][0], which thread (0, 2) of the same block accesses"),
        (ALL_WAIT, "<<<4000, 32", "<<<5000, 32", "4,224 blocks of 32 threads that an H200 has at"),
        (OWN_SHARED, ", 2 * 128", ", 47 * 1024", "with 2048 of its own arrays"),
        (OWN_SHARED, "turn<<<", "cudaFuncSetAttribute(turn, (cudaFuncAttribute)8, 200); turn<<<",
         "256 bytes of dynamic shared memory are more than the 200"),
        (SCALE, "scale<<<(n + 127) / 128, 128>>>(x,", "scale<<<8, 128>>>(h,", "of the host"),
        (SCALE, "(r, y, n * sizeof(float)", "(r, y, n * 8", "takes 8000 bytes of r"),
        (LINES, "blockDim.x * gridDim.x", "blockDim.x", "letters (expected 5000)"),
        (TABLE, "size_t base = (size_t)", "int base = ", "element -"),
        (COPIED, "size_t base = (size_t)", "int base = ", "table, which has 2457600000 elements"),
        (IN_C, "* x[i]", "* __shfl_down_sync(~0u, x[i], 16)", "of its warp that does not run"),
        (PARTS, "    __threadfence();\n", "", "reads parts[0], which thread 0 of block 0 accesses"),
        (HALVES, "vector<__half> h", "vector<float> h", "Line 12: The copy puts elements of type"),
        (MARK, "level[i] != now", "level[i] < 0", "accesses at line"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=6, first=TODAY)
def test_what_the_program_comes_to_is_an_error(
    text: str, right: str, wrong: str, says: str
) -> None:
    assert right in text
    found = errors(followed(text.replace(right, wrong)))
    assert any(says in one for one in found), found
    assert text not in (UNKNOWN, HUGE, WIDE, ALL_WAIT) or not errors(followed(text))


@pytest.mark.parametrize(
    ("says", "is_wrong"),
    [
        ('"in 629 bad %d", bad', False),
        ('"%d of 1249 wrong: PASS", bad', False),
        ('"size %d bad=%d", 4, bad', False),
        ('"0 errors %d", n', False),
        ('"gpu 7 / 9, cpu 7"', False),
        ('"gpu 8 / 9, cpu 7"', True),
        ('"%d bad", bad + 1', True),
        ('"n=%d bad: %d", 0, 3', True),
        ('"0 bad, errors 2"', True),
        ('"mean 7 var 5 (cpu 7 5)"', False),
        ('"mean 7 var 5 (cpu 8 5)"', True),
        ('"gpu 7 (2.5) cpu 7 (2.5)"', False),
    ],
)
@pytest.mark.sampled(every=6, first=TODAY)
def test_what_a_program_counts_is_read_with_its_word(says: str, is_wrong: bool) -> None:
    program = followed(SCALE.replace('"%d bad\\n", bad', says))
    assert bool(errors(program)) == is_wrong


def test_constants_that_are_made_smaller_are_named_and_a_seed_is_none() -> None:
    seeded = LARGE.replace("int bad = 0;", "int bad = 0; srand(70000);")
    program = followed(seeded.replace("2.0f * x[i]", "x[i] + x[i / 2]"))
    assert program["sizes"] == "So that it runs here, n is 65,536 for 16,777,216."
    assert any("ends with status 1" in one for one in errors(program))
    text = LARGE.replace("int bad = 0;", "const int rows = 1000000; int bad = rows - rows;")
    assert followed(text)["sizes"].count(" for ") == 2


@pytest.mark.parametrize("tied", ["last = 16000000", "per_block = n / 1024 / 100"])
def test_constants_with_numbers_that_depend_on_them_stay(tied: str) -> None:
    program = followed(LARGE.replace("int bad = 0;", f"int bad = 0, {tied};"))
    assert program["stopped"]
    assert not program["sizes"]


@pytest.mark.parametrize("text", [SCALE, LONG])
def test_a_program_that_fills_no_array_says_nothing_of_what_kernels_read(text: str) -> None:
    fill = "cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);"
    program = followed(text.replace(fill, ""))
    assert errors(program) == []
    assert program["isSketch"]


def test_host_code_has_the_libraries_of_c_and_cpp() -> None:
    program = followed(LIBRARY)
    assert errors(program) == []
    hash_ = (6364136223846793005 * 3 + 2**63) % 2**64 - 2**63
    assert (program["printed"], program["status"]) == ([f"7 {hash_} 4000 0.5", "0 wrong"], 0)


def test_long_has_as_many_bytes_as_for_cuda() -> None:
    text = """
#include <cstdio>
__global__ void add(long *x, size_t more) { x[threadIdx.x] += more; }
int main() {
    long h[4] = {1L << 40, 2, 3, 4}, *d;
    cudaMalloc(&d, sizeof(h));
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    add<<<1, 4>>>(d, (size_t)3 << 32);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    char said[64];
    sprintf(said, "%ld %d", h[0], 5);
    return h[1] != (3L << 32) + 2 || strcmp(said, "1112396529664 5") || sizeof(size_t) != 8;
}
"""
    program = followed(text)
    assert not program["stopped"]
    assert errors(program) == []


@pytest.mark.parametrize(
    ("missing", "line", "says"),
    [
        ("", 0, ""),
        ("    cudaStreamWaitEvent(other, filled, 0);\n", 17,
         "Nothing makes the launch of twice in line 17 wait for the launch of fill in line 14"),
        ("cudaStreamSynchronize(other);\n", 18, "The host does not wait for the copy of line 18"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=4, first=TODAY)
def test_a_missing_wait_is_named(missing: str, line: int, says: str) -> None:
    assert missing in STREAMS
    text = STREAMS.replace(missing, "\n" if missing else "")
    found = errors(followed(text))
    if not missing:
        assert found == []
        return
    assert any(one.startswith(f"Line {line}: {says}") for one in found), found


UNCHECKED = STREAMS.replace("bad += h[i] != 2 * i", "bad += h[i]").replace("bad != 0", "0")
UNCHECKED = UNCHECKED.replace("%d bad", "sum %d")


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        ("(filled, one)", "(filled, other)", "wait for the launch of fill in line 14"),
        # Who waits for the first stream first need not see that the other was earlier.
        ("cudaStreamSynchronize(other)", "cudaStreamSynchronize(one), cudaStreamSynchronize(other)",
         "wait for the launch of fill in line 14"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=4, first=TODAY)
def test_an_order_that_nothing_ensures_shows_without_a_comparison(
    right: str, wrong: str, says: str
) -> None:
    text = UNCHECKED
    if right:
        assert right in text
        text = text.replace(right, wrong).replace("(other, filled, 0)", "(one, filled, 0)")
    found = errors(followed(text))
    if not says:
        assert found == []
        return
    assert any("Nothing makes" in one and says in one for one in found), found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("y[3] = 1;", "Line 16: Host code uses y, which lies in the memory of the device."),
        ("h[n] = 1;", "Host code writes behind the end of an array of 4,000 bytes."),
        ("cudaFree(y);", "uses y, which has been freed"),
        ("abort();", "ends with status 134"),
    ],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_faults_of_the_host_are_errors(line: str, says: str) -> None:
    text = SCALE.replace("int bad = 0;", f"int bad = 0; {line}")
    assert text != SCALE
    if "Free" in line:
        text = text.replace(line, "").replace("cudaMemcpy(r,", f"{line} cudaMemcpy(r,")
    found = errors(followed(text))
    assert any(says in one for one in found), found


DOUBLED = "\n#define A0 1\n" + "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(40))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("for (int i = 0; ; i += 2) if (i == 1) break;", "it takes too long"),
        ('scanf("%d", &bad); scale<<<bad, 1>>>(x, y, n);', "it asks for stdin"),
        ("cudnnCreate(0);", "line 16 needs a library, which is not followed"),
        ("extern void elsewhere(); elsewhere();", "it calls elsewhere()"),
        (DOUBLED, "its macros double each other"),
    ],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_why_a_program_is_not_followed_is_said(line: str, says: str) -> None:
    program = followed(SCALE.replace("int bad = 0;", f"int bad = 0; {line}"))
    assert says in program["stopped"]
    assert errors(program) == []


def test_a_struct_of_a_kernel_may_have_members_for_the_host() -> None:
    (found,) = errors(followed(BUFFER))
    line = BUFFER[: BUFFER.rindex("clear<<<")].count("\n") + 1
    assert found.startswith(f"Line {line}: clear is given ")
    assert found.endswith("which has been freed.")


def test_host_and_kernel_share_a_managed_variable() -> None:
    program = followed(MANAGED)
    assert (program["printed"], program["status"]) == (["105"], 0)


@pytest.mark.parametrize(
    ("unset", "name"),
    [
        ("", ""),
        ("cudaMemcpyToSymbol(gain, h + 2, sizeof(float));", "gain"),
        ("cudaMemcpyToSymbol(window, &w, sizeof(w));", "window"),
        (" cudaGetSymbolAddress((void**)&at, scale);\n    cudaMemset(at, 0, 2 * sizeof(float));",
         "scale"),
    ],
)  # fmt: skip
@pytest.mark.sampled(every=4, first=TODAY)
def test_a_variable_that_nothing_sets_is_named(unset: str, name: str) -> None:
    assert unset in VARIABLES
    report = checked(VARIABLES.replace(unset, ""))
    found = [one.message for one in report.findings if one.severity == "error"]
    line = VARIABLES[: VARIABLES.index(f" {name}")].count("\n") + 1
    says = [f"{name} (line {line}) is never set: every read of it gives 0."] if name else []
    assert [one.partition(" It is so")[0] for one in found if "tile" not in one] == says
    assert report.verdict == ("wrong" if name else "no fault found")


def test_a_launch_with_a_struct_and_one_array_under_two_names_is_tried_in_other_orders() -> None:
    report = checked(VIEWS)
    assert (report.verdict, report.findings) == ("no fault found", ())
    assert any("also ran in other orders" in one for one in report.said)


def test_of_many_kernels_those_that_the_program_launches_are_taken() -> None:
    other = "__global__ void other{0}(float *y) {{ y[{0}] = 0; }}\n"
    more = "".join(other.format(one) for one in range(24))
    text = more + SCALE.replace("#include <cstdio>", "")
    heard: list[str] = []
    pasted = Pasted("a.cu", "#include <cstdio>\n" + text, Path())
    program = follow_program(pasted, progress=heard.append)
    assert (program["stopped"], program["status"], program["called"]) == ("", 0, ["scale"])
    assert heard[::2] == len(heard[::2]) * ["run the program's launches"]
    assert heard[-2] == "compile scale"


def test_a_launch_that_takes_too_long_runs_once(patient: None) -> None:
    report = checked(LARGE.replace("int bad = 0;", "int bad = 0, last = 16000000;"))
    assert report.said[0] == "Its launch did not come to its end, so no other order was tried."
    assert report.verdict == "no fault found"


def test_what_a_program_prints_and_ends_with_is_shown() -> None:
    says = 'for (int i = 0; i < 9; i++) printf("line %d\\033[2J\\n\\n", i); return 3;'
    text = SCALE.replace("return bad != 0;", says)
    program = followed(text)
    assert program["status"] == 3
    assert program["printed"] == [f"line {number} [2J" for number in range(3, 9)]


@pytest.mark.parametrize(
    ("asks", "words"),
    [("if (argc != 2) return 1; int n = atoi(argv[1]);", "128"),
     ("int n = atoi(argv[1]) + atoi(argv[2]);", "128 128"), ("int n = 256;", "")],
)  # fmt: skip
def test_a_program_that_asks_for_arguments_is_given_some(asks: str, words: str) -> None:
    text = SCALE.replace("main()", "main(int argc, char **argv)")
    at = text.index("const int n = 1000;")
    done = followed(f"#include <cstdlib>\n{text[:at]}{asks}{text[at + 19 :]}")
    assert (done["words"], done["launched"]) == (words, {"scale": 1})
    assert done["findings"] == {}


def test_a_long_line_is_cut_and_a_stopped_program_has_no_status() -> None:
    line = 'printf("%0300d\\n", 0); fflush(stdout); extern void elsewhere(); elsewhere();'
    program = followed(SCALE.replace("return bad != 0;", line))
    assert program["status"] is None
    assert program["printed"] == ["0 bad", "0" * 200 + " …"]


def test_headers_may_bring_what_no_standard_says_they_bring() -> None:
    text = SCALE.replace("<cstdio>", "<vector>")
    sums = (
        'std::vector<int> v{2, 1}; std::sort(v.begin(), v.end()); std::string s("x"); return v[0];'
    )
    assert followed(text.replace("return bad != 0;", sums))["status"] == 1


def test_kernels_that_take_too_long_to_compile_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sgemm_lab.external_cuda.program.COMPILING_SECONDS", 0.0)
    assert followed(SCALE)["stopped"].startswith("it launches scale, and compiling its kernels")


def test_a_launch_that_changes_nothing_runs_once_more(patient: None) -> None:
    program = followed(PRODUCTS.replace("2048", "64"))
    assert (program["stopped"], program["launched"]) == ("", {"naive": 1000})


def test_launches_that_a_program_did_not_come_to_are_named(patient: None) -> None:
    more = "busy<<<1, 1>>>(c); cudaDeviceSynchronize();\nnaive<<<1, 1>>>(1, a, b, c);"
    text = PRODUCTS.replace("2048", "64").replace('printf("done', f'{more} printf("done')
    naive = next(check_file(ExternalKernel(Pasted("a.cu", text, Path()))))
    said = " ".join(naive.said)
    assert "it launches naive 1,000 times" in said
    assert "It did not come to line 24." in said


@pytest.mark.parametrize(("parts", "changed"), [(16, "n is 256 for 2,048"), (512, "")])
def test_sizes_stay_where_a_smaller_one_makes_a_quotient_0(parts: int, changed: str) -> None:
    text = f"int main() {{ const int n = 2048; const int parts = n / {parts}; return parts; }}"
    sources = read_sources(Pasted("a.cu", text, Path()))
    assert sources.ask("smaller_sizes", halvings=8, least=256)["changed"] == changed


WAITS = "    cudaStreamSynchronize(s);\n"


def test_the_order_of_host_and_copies_is_judged_where_a_launch_takes_too_long() -> None:
    assert not errors(followed(STAGED))
    assert not errors(followed(STAGED.replace("s++", "s += 90000000")))
    refilled = STAGED.replace("    " + WAITS, "")
    (found,) = errors(followed(refilled))
    assert found.startswith("Line 17: The host changes held while this copy may still read it.")
    by_callback = refilled.replace(
        "for (int i = 0; i < n; i++) held[i] = i + b;",
        "cudaLaunchHostFunc(s, [](void *p) { ((int *)p)[0] += 1; }, held);",
    )
    assert not errors(followed(by_callback))


def test_what_is_printed_before_a_long_launch_is_done_is_an_error() -> None:
    unwaited = STAGED.replace(WAITS + "    printf", "    printf").replace("b < 3", "b < 1")
    (found,) = errors(followed(unwaited.replace("held[1] == 4", "held[1] == 1")))
    assert (
        'The host does not wait for the copy of line 21. Before that is done it prints "FAIL"'
        in (found)
    )
    assert not errors(followed(unwaited))


PRAISED = SCALE.replace('"%d bad', '"%d bad: PASSED').replace("2 * h[i]", "2 * i", 1)
RECORD = "cudaEventRecord(filled, one);"
FIRST = "int* z; cudaMalloc(&z, 256); cudaMemset(z, 0, 256); twice<<<1, 64, 0, one>>>(z, y);"


@pytest.mark.parametrize(
    ("text", "right", "wrong", "says"),
    [
        (PRAISED, "DeviceToHost);", "HostToDevice); for (int i = 0; i < n; i++) r[i] = 2 * i;",
         "never copies anything to the host"),
        (STREAMS.replace(RECORD, FIRST + RECORD), FIRST + RECORD, RECORD + FIRST, "Nothing makes"),
    ],
)  # fmt: skip
def test_what_a_program_may_mean_is_a_warning(text: str, right: str, wrong: str, says: str) -> None:
    wrong = text.replace(right, wrong).replace("(r, y,", "(y, r," if text == PRAISED else "(r, y,")
    severity = "error" if says == "Nothing makes" else "warning"
    for one, severities in ((text, set()), (wrong, {severity})):
        every = [each for found in followed(one)["findings"].values() for each in found]
        assert {each["severity"] for each in every} == severities
        assert all(says in each["message"] for each in every)


PARTS = """
__global__ void add(int *x, int from, int by) { x[from + threadIdx.x] += by; }
int main() {
    int *x, *h;
    cudaStream_t s[2];
    for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
    cudaMalloc(&x, 512);
    cudaMallocHost(&h, 512);
    for (int i = 0; i < 2; i++) {
        cudaMemsetAsync(x + 64 * i, 0, 256, s[i]);
        add<<<1, 64, 0, s[i]>>>(x, 64 * i, 1);
        cudaMemcpyAsync(h + 64 * i, x + 64 * i, 256, cudaMemcpyDeviceToHost, s[i]);
    }
    cudaDeviceSynchronize();
    cudaFreeAsync(x, s[0]);
}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        ("cudaDeviceSynchronize();", "", "the release of line 15 wait for"),
        ("(x, 64 * i, 1)", "(x, 32 * i, 1)", "the launch of add in line 11"),
        ("x + 64 * i, 0, 256, s[i]", "x + 64 * i, 0, 256, 0", "wait for the memset of line 10"),
    ],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_streams_may_use_parts_of_an_array_alone(right: str, wrong: str, says: str) -> None:
    found = errors(followed(PARTS.replace(right, wrong)))
    assert bool(found) == bool(says)
    assert not says or any("Nothing makes" in one and says in one for one in found), found


@pytest.mark.parametrize(("place", "count"), [("[blockIdx.x - 1]", 0), ("[blockIdx.x]", 1)])
@pytest.mark.sampled(every=2, first=TODAY)
def test_blocks_that_wait_for_what_none_writes_are_stuck(place: str, count: int) -> None:
    found = errors(followed(CHAINED.replace("[blockIdx.x - 1]", place)))
    assert ["does not come to an end" in one for one in found] == [True] * count


SET = program_text("set_in_part")
TOTAL = program_text("total")


@pytest.mark.parametrize(
    ("right", "wrong", "severity", "says"),
    [
        ("", "", "", ""),
        ("(x, 0, sizeof h)", "(x, 1, sizeof h)", "warning", "puts 1 into each byte of x"),
        ("(w, h, sizeof h)", "(w, h, 32)", "warning", "the host sets only a part of w"),
        ("== 0) atomicAdd(&sum[k], 1)", "== 0) sum[k] = 1", "error", "updates sum"),
    ],
)
@pytest.mark.sampled(every=4, first=TODAY)
def test_what_the_host_sets_and_threads_sum(
    right: str, wrong: str, severity: str, says: str
) -> None:
    every = followed(SET.replace(right, wrong) if right else SET)["findings"].values()
    found = [one for each in every for one in each]
    assert {one["severity"] for one in found} == ({severity} if severity else set())
    assert all(says in one["message"] for one in found)


@pytest.mark.parametrize(
    ("start", "end", "count"),
    [("0", "s[0]", 1), ("FLT_MIN", "s[0]", 1), ("-INFINITY", "fmaxf(s[0], 0)", 0)],
)
def test_a_maximum_starts_below_its_elements(start: str, end: str, count: int) -> None:
    text = program_text("row_maxima").replace("START", start).replace("END", end)
    assert ["none of the numbers" in one for one in errors(followed(text))] == [True] * count


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        ("k = 128; k > 0; k /= 2) {\n        if (t < k && t + k < 192)",
         "k = blockDim.x / 2; k > 0; k /= 2) {\n        if (t < k)", "leaves out s[2]"),
        ("ticket = 0;", "", "ticket holds 4"),
        ("(x, y, 8000)", "(x, y, 9000)", "passes the largest number of its type"),
    ],
)  # fmt: skip
def test_sums_over_all_threads_blocks_and_launches(right: str, wrong: str, says: str) -> None:
    assert right in TOTAL
    found = followed(TOTAL.replace(right, wrong) if right else TOTAL)["findings"].values()
    assert [says in one["message"] for every in found for one in every] == [True] * bool(says)
