"""The workbench of "Your own kernel": launches read from files, findings, and the page itself."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler_here import compiled, package
from in_node import answers
from panel_pages import furnish, page_of
from playwright.sync_api import Browser, Page, expect
from sites import Site, served
from turns import TAKES_TURNS, TODAY

from accessible import faults
from browser import still
from sgemm_lab import bundles
from sgemm_lab.book import panels, workbench
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.clang.package import SCRIPT, package_files, write_site
from sgemm_lab.errors import LabError

pytestmark = TAKES_TURNS

ASSETS = ("panel.css", "book.js")
MODULES = {
    "cuda": "external_cuda/cuda_file.ts",
    "kernels": "external_cuda/kernels.ts",
    "launch": "book/workbench/launch.ts",
    "run": "book/workbench/run_kernel.ts",
    "compiling": "book/workbench/compiling.ts",
    "clang": "clang/compiler.ts",
    "program": "book/workbench/run_program.ts",
}
PLAN = """(text, edits) => {
  const file = new cuda.CudaFile([{ name: "a.cu", text }]);
  return kernels.ownKernels(file).map((kernel) => {
    const plan = launch.planLaunch(file, kernel, new Map(Object.entries(edits)));
    const device = compiling.deviceText(plan.opened);
    const { name } = plan.opened;
    return { ...launch.resolve(plan), name, assumed: launch.assumptions(plan), device };
  });
}"""
RUN = """(text, kernel, edits, ptx) => {
  const request = { text, kernel, edits: new Map(Object.entries(edits)) };
  const [compiled, told] = [() => ({ ptx, by: "" }), []];
  const found = run.checkAlone(request, { compiled }, 20, (words) => told.push(words));
  return { ...found, counts: 0, told };
}"""
FOLLOW = """async (text, changes, script) => {
  globalThis.loading ??= import(script).then(async (found) => {
    return compiling.compilerOf(found, await clang.loadCompiler(found));
  });
  const compiler = await globalThis.loading;
  const file = new cuda.CudaFile([{ name: "a.cu", text }]);
  const names = kernels.ownKernels(file).map(({ name }) => name);
  const request = { text, changes, isSketch: false, names };
  const soFar = [];
  const tell = (_, found) => found && soFar.push([...found.reports.values()][0].verdict);
  const found = program.checkProgram(request, compiler, 20, tell);
  const conflicts = [...found.counts.values()].flatMap((one) => [...one.conflicts]);
  return { ...found, soFar, counts: 0, conflicts, reports: [...found.reports.values()] };
}"""
ONCE = ("--no-wasm-tier-up", "--no-wasm-dynamic-tiering")
"""A better translation of the compiler takes longer than what it compiles."""
FAULTS = {
    "Matrix product": ("race", [15, 18]),
    "Transpose": ("unwritten", [15]),
    "Reduction": ("barrier", [12]),
    "Softmax": ("race", [22, 27]),
    "Histogram": ("unwritten", [13]),
    "Stencil": ("out of bounds", [16]),
}


def plans(text: str, edits: dict[str, str] | None = None) -> list[dict[str, Any]]:
    [answer] = answers(MODULES, PLAN, [[text, edits or {}]])
    assert "gives" in answer, answer
    found: list[dict[str, Any]] = answer["gives"]
    return found


def run(text: str, expected: str = "") -> dict[str, Any]:
    """Compile and run the only kernel of a file with the launch that the page would choose."""
    edits = {"expected": expected}
    [plan] = plans(text, edits)
    ptx = compiled(plan["device"])["ptx"]
    [answer] = answers(MODULES, RUN, [[text, plan["name"], edits, ptx]])
    if answer.get("kind") == "LabError":
        raise LabError(answer["says"])
    assert "gives" in answer, answer
    found: dict[str, Any] = answer["gives"]["report"]
    return {**found, "told": answer["gives"]["told"]}


def follow(*asked: tuple[str, dict[int, dict[str, Any]]] | str) -> list[dict[str, Any]]:
    """Follow programs as the page does, in one process: texts, or each with changes of launches."""
    script = (package_files() / SCRIPT).as_uri()
    pairs = [(one, {}) if isinstance(one, str) else one for one in asked]
    found = answers(MODULES, FOLLOW, [[*pair, script] for pair in pairs], ONCE)
    assert all("gives" in one for one in found), found
    return [one["gives"] for one in found]


def lines(finding: dict[str, Any]) -> list[int]:
    return sorted({finding["line"], finding["otherLine"] or finding["line"]})


def weights(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["severity"], one["kind"]) for one in found["findings"]]


def examples() -> dict[str, workbench.Example]:
    return {one.name: one for one in workbench.examples()}


def test_each_example_has_a_fault() -> None:
    assert examples().keys() == FAULTS.keys()


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.sampled(every=6, first=TODAY)
def test_an_example_is_clean_and_its_fault_is_found_at_its_lines(name: str) -> None:
    one = examples()[name]
    before, after = one.fault
    assert one.source.count(before) == 1
    clean, faulty = follow(one.source, one.source.replace(before, after))
    assert (clean["soFar"], faulty["soFar"]) == (["no fault found"], ["wrong"])
    assert (clean["followed"]["stopped"], clean["reports"][0]["findings"]) == ("", [])
    [report] = faulty["reports"]
    first = report["findings"][0]
    assert (first["severity"], first["kind"], lines(first)) == ("error", *FAULTS[name])


def test_a_bank_conflict_names_two_lanes_their_bank_and_the_wavefronts() -> None:
    source = examples()["Transpose"].source
    found, padded = follow(source, source.replace("[TILE][TILE];", "[TILE][TILE + 1];"))
    assert found["conflicts"] == [
        [
            15,
            "Bank conflict: lanes 0 and 1 want different words of bank 0, 128 bytes apart: "
            "32 wavefronts for 1.",
        ]
    ]
    assert padded["conflicts"] == []


def test_a_launch_of_the_program_runs_on_changed_values() -> None:
    source = examples()["Stencil"].source
    own, changed, outside = follow(
        source,
        (source, {0: {"grid": [4], "numbers": {"n": 900}}}),
        (source, {0: {"numbers": {"n": 1001}}}),
    )
    [launch] = own["launches"]
    assert (launch["grid"], launch["block"]) == ([8], [128])
    assert launch["numbers"] == [["n", 1000]]
    assert launch["arrays"] == [["in", 1000], ["out", 1000]]
    [launch] = changed["launches"]
    assert (launch["grid"], launch["numbers"], launch["isChanged"]) == ([4], [["n", 900]], True)
    [report] = changed["reports"]
    [finding] = [one for one in report["findings"] if one["kind"] == "unwritten"]
    assert "element 512 of" in finding["message"]
    first = outside["reports"][0]["findings"][0]
    assert (first["kind"], lines(first)) == ("out of bounds", [13])


ALONE = """
__global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
SAXPY = f"""{ALONE}
int main() {{
    int n = 300;
    float h[300], *x, *y;
    for (int i = 0; i < n; ++i) h[i] = i;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice);
    saxpy<<<2, 256>>>(x, y, 3.0f, n);
}}
"""


def test_a_result_is_compared_with_what_is_expected() -> None:
    right = "y is right: all 4,096 elements equal what is expected."
    alone = run(ALONE)
    assert (alone["verdict"], alone["findings"]) == ("no fault found", [])
    assert alone["said"][-1] == "Also tried at n = 4093."
    assert alone["told"][-1].endswith("no fault so far. Trying other orders and sizes")
    for expected in ("y = a * x + y", "x + y"):
        found = run(ALONE, expected)
        assert (found["verdict"], right in found["said"]) == ("right", True)
    [wrong] = run(ALONE, "y = 2 * x + y")["findings"]
    pattern = r"y is wrong: 3,\d+ of 4,096 .*\. The first is y\[\d+\]: (.*), not (.*)\."
    matched = re.fullmatch(pattern, wrong["message"])
    assert matched is not None
    assert abs(float(matched[1]) - float(matched[2])) >= 1
    with pytest.raises(LabError, match="'z' is no array"):
        run(ALONE, "z = x")
    with pytest.raises(LabError, match="“q” is not known"):
        run(ALONE, "q * x")


TOTAL = """
__global__ void total(const float* x, float* y, int* taken, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) ADD;
}
int main() {
    int n = 300;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, 4);
    cudaMalloc(&taken, 4);
    total<<<2, 256>>>(x, y, taken, n);
}
"""


@pytest.mark.parametrize(
    ("add", "found"),
    [("atomicAdd(y, x[i])", []), ("atomicExch(y, x[i])", [("warning", "order")])],
)
def test_a_result_that_depends_on_the_order_is_found(add: str, found: list[Any]) -> None:
    assert weights(run(TOTAL.replace("ADD", add))) == found


PRODUCT = """
constexpr int TILE = 16;
__global__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    if (row >= M || column >= N) return;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + column];
    C[row * N + column] = acc;
}
void launch(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    multiply<<<grid, block>>>(A, B, C, M, N, K);
}
"""


def test_a_product_is_expected_by_its_matrices() -> None:
    source = PRODUCT
    assert run(source, "C = A @ B")["verdict"] == "right"
    assert run(source, "A @ B + 1")["verdict"] == "would be wrong"


def test_a_struct_is_an_argument_of_its_fields() -> None:
    text = """struct Line { const float* x; float* y; int n; };
__global__ void twice(Line p) { int i = threadIdx.x; if (i < p.n) p.y[i] = 2 * p.x[i]; }
int main() { Line p; p.n = 30; cudaMalloc(&p.x, 120); cudaMalloc(&p.y, 120); twice<<<1, 32>>>(p); }
"""
    assert plans(text)[0]["args"].split()[:2] == ["p_x:in:4096", "p_y:inout:4096"]
    assert run(text)["findings"] == []
    wrong = run(text.replace("p.y[i] = 2", "p.y[threadIdx.x % 2] = 2"))
    assert [kind for _, kind in weights(wrong)] == ["race"]
    assert "1 finding so far" in wrong["told"][-1]


HOST = """
#include <thrust/device_vector.h>
namespace mine { struct Host { std::vector<float> x; }; }
template <typename T, int WIDTH = 4>
__global__ void scale(const T* in, T* out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
    if (i < n) out[i] = in[i];
}
void launch(float* a, float* b, int count) {
    std::vector<float> host(count);
    cudaMalloc((void **)&a, host.size() * sizeof(float));
    dim3 block(64, 1), grid(ceil_div(count, block.x * 4));
    scale<float, 4> << <grid, block>> >(a, b, count);
}
"""


def test_host_code_that_does_not_compile_is_left_out_and_its_launch_assumed() -> None:
    [plan] = plans(HOST.replace("<< <", "<<<").replace(">> >", ">>>"))
    assert (plan["grid"], plan["block"]) == (["64"], ["64", "1"])
    assert plan["args"] == "in:in:4096 out:inout:4096 n=4096"
    arrays = [f"Elements of {name} = 4096" for name in ("in", "out")]
    assert plan["assumed"] == ["n = 4096", "Grid = 64", "Block = 64, 1", *arrays]
    assert "launch" not in plan["device"]
    assert "Host" not in plan["device"]
    assert "\n" + " " * 33 + "\nnamespace mine {" in plan["device"]


def test_assumed_sizes_can_be_set_and_arrays_follow() -> None:
    [edited] = plans(PRODUCT, {"size M": "20", "size N": "40", "size K": "8"})
    assert edited["args"] == "A:in:160 B:in:320 C:inout:800 20 40 8"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a page with the workbench, and the compiler."""
    folder: Path = tmp_path_factory.mktemp("workbench")
    package()
    furnish(folder, ASSETS)
    for file, text in panels.site_files(["tiled"], write_site(folder / "clang")).items():
        (folder / file).write_text(text, encoding="utf-8")
    (folder / workbench.SCRIPT).write_text(bundles.text(f"pages/{workbench.SCRIPT}"), "utf-8")
    bench = workbench.workbench(workbench.examples())
    for mode in ("light", "dark"):
        html = page_of(bench, "Your own kernel", ASSETS, mode)
        (folder / f"{mode}.html").write_text(html, encoding="utf-8")
    product = panels.panel(load_kernel("tiled"))
    html = page_of(product, "A panel", ASSETS, "light")
    (folder / "panel.html").write_text(html, encoding="utf-8")
    with served(folder) as site:
        yield site


def opened(reader: Browser, site: Site, mode: str, **options: Any) -> Page:
    page = reader.new_page(**still(reader, **options))
    page.goto(f"{site.address}/{mode}.html")
    page.locator('[data-lab="workbench"]').dispatch_event("pointerenter")
    page.locator('[data-lab="workbench"][data-ready]').wait_for()
    return page


@pytest.mark.browser
def test_an_example_chosen_before_the_script_comes_is_taken(chromium: Browser, site: Site) -> None:
    page = chromium.new_page(**still(chromium))
    page.goto(f"{site.address}/light.html")
    page.locator('[data-lab="example"]').evaluate("(list) => (list.selectedIndex = 5)")
    page.locator('[data-lab="workbench"]').dispatch_event("pointerenter")
    status = page.locator('[data-lab="workbench"] > [data-lab="verdict"]')
    expect(status).to_contain_text("Not run yet: blur")
    page.close()


@pytest.mark.browser
def test_a_pasted_file_is_compiled_run_and_judged_in_the_page(
    chromium: Browser, site: Site
) -> None:
    page = opened(chromium, site, "light")
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.locator('[data-lab="faulty"]').check()
    page.locator('[data-lab="run"]').click()
    verdict = page.locator(".lab-launch .lab-bench-verdict")
    status = page.locator('[data-lab="workbench"] > [data-lab="verdict"]')
    expect(status).to_contain_text("multiply: threads race, lines 15 and 18", timeout=90_000)
    expect(verdict).to_contain_text("Line 15")
    expect(page.locator(".is-named")).to_have_count(3)
    # A launch of the program runs on what the reader sets.
    page.locator('[data-lab="example"]').select_option("Stencil")
    page.locator('[data-lab="faulty"]').uncheck()
    expect(status).to_contain_text("Not run yet: blur")
    page.locator('[data-lab="run"]').click()
    expect(status).to_contain_text("✓ blur: no fault found", timeout=60_000)
    page.locator(".lab-launch summary", has_text="grid 8").click()
    page.get_by_label("n from the program").fill("1001")
    page.get_by_label("n from the program").press("Enter")
    expect(status).to_contain_text("blur: an access lies outside, line 13", timeout=60_000)
    expect(page.locator(".lab-launch summary", has_text="changed here")).to_have_count(1)

    def take(text: str, kernel: str) -> None:
        file = {"name": "my.cu", "mimeType": "text/plain", "buffer": text.encode()}
        page.locator('[data-lab="open"]').set_input_files(file)
        expect(status).to_contain_text(f"Not run yet: {kernel}")

    # Nothing of a pasted file reaches the page as HTML.
    hostile = "__global__ void bad() { } // <img src=x onerror=alert(1)>\n#error <b>no</b>\n"
    take(hostile, "bad")
    page.locator('[data-lab="run"]').click()
    expect(verdict).to_contain_text("No race, overrun or unwritten read found", timeout=60_000)
    assert page.locator("img, .lab-launch b b").count() == 0
    # Without a main what is expected can be said.
    take(ALONE, "saxpy")
    page.locator(".lab-launch summary").first.click()
    field = page.get_by_label("Expected result")
    field.fill("y = x")
    field.press("Enter")
    differs = "elements differ from what is expected. The first is y["
    expect(verdict).to_contain_text(differs, timeout=60_000)
    expect(page.locator('[data-lab="run"]')).to_have_text("Run", timeout=60_000)
    field = page.get_by_label("Expected result")
    field.fill("<img src=x>")
    field.press("Enter")
    expect(verdict).to_contain_text("Not run", timeout=60_000)
    assert page.locator("img").count() == 0
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_a_panel_checks_a_kernel_that_is_not_its_product_as_any_other(
    chromium: Browser, site: Site
) -> None:
    page = chromium.new_page(**still(chromium))
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{site.address}/panel.html")
    page.locator('[data-lab="editor"]').focus()
    page.locator('[data-lab="panel"][data-ready]').wait_for()
    page.locator(".cm-editor").wait_for()
    verdict = page.locator('[data-lab="verdict"]')
    for text, says in (
        (SAXPY, "saxpy: no fault found"),
        (SAXPY.replace("if (i < n)", "if (i <= n)"), "saxpy: an access lies outside"),
    ):
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(text)
        page.locator('[data-lab="run"]').click()
        expect(verdict).to_contain_text(says, timeout=90_000)
        expect(verdict).to_contain_text("No kernel is called sgemm, so each was checked by itself")
        page.locator('[data-lab="editor"], .cm-content').last.focus()
    expect(page.locator(".lab-launch .lab-bench-verdict")).to_contain_text("element 300 of y")
    assert complaints == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_workbench_is_accessible_and_fits_a_phone(
    chromium: Browser, site: Site, mode: str
) -> None:
    page = opened(chromium, site, mode, viewport={"width": 390, "height": 844})
    file = {"name": "my.cu", "mimeType": "text/plain", "buffer": ALONE.encode()}
    page.locator('[data-lab="open"]').set_input_files(file)
    page.locator(".lab-launch summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults(page) == []
    grid = page.get_by_label("Grid")
    grid.fill("nonsense")
    grid.press("Tab")
    expect(page.locator(".lab-launch summary").first).to_contain_text("Grid: the value of")
    page.close()
