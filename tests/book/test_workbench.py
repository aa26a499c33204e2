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

from accessible import faults
from browser import still
from sgemm_lab import bundles
from sgemm_lab.book import panels, workbench
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.clang.package import write_site
from sgemm_lab.errors import LabError

ASSETS = ("panel.css", "book.js")
MODULES = {
    "cuda": "external_cuda/cuda_file.ts",
    "kernels": "external_cuda/kernels.ts",
    "launch": "book/workbench/launch.ts",
    "run": "book/workbench/run_launch.ts",
}
PLAN = """(text, edits) => {
  const file = new cuda.CudaFile([{ name: "a.cu", text }]);
  return kernels.ownKernels(file).map((kernel) => {
    const plan = launch.planLaunch(file, kernel, new Map(Object.entries(edits)));
    const device = launch.deviceText(plan.opened);
    const { name } = plan.opened;
    return { ...launch.resolve(plan), name, assumed: launch.assumptions(plan), device };
  });
}"""
RUN = """(request) => {
  const found = run.runLaunch(request, 20);
  return { ...found, lines: 0, conflicts: [...found.conflicts] };
}"""
FAULTS = {
    "Matrix product": ("race", [14, 17]),
    "Transpose": ("unwritten", [13]),
    "Reduction": ("barrier", [10]),
    "Softmax": ("race", [19, 24]),
    "Histogram": ("unwritten", [11]),
    "Stencil": ("out of bounds", [13]),
}


def plans(text: str, edits: dict[str, str] | None = None) -> list[dict[str, Any]]:
    [answer] = answers(MODULES, PLAN, [[text, edits or {}]])
    assert "gives" in answer, answer
    found: list[dict[str, Any]] = answer["gives"]
    return found


def run(text: str, expected: str = "") -> dict[str, Any]:
    """Compile and run the only kernel of a file with the launch that the page would choose."""
    [plan] = plans(text, {"expected": expected})
    ptx = compiled(plan["device"])["ptx"]
    [symbol] = re.findall(r"\.entry (\w+)", ptx)
    kernel = {name: plan[name] for name in ("grid", "block", "sharedBytes", "args")}
    request = {
        "kernel": {**kernel, "text": text, "entry": plan["name"], "ptx": ptx, "symbol": symbol},
        "assumed": bool(plan["assumed"]),
        "templateAssumed": False,
        "sizes": plan["sizes"],
        "expected": expected,
        "references": [],
    }
    [answer] = answers(MODULES, RUN, [[request]])
    if answer.get("kind") == "LabError":
        raise LabError(answer["says"])
    assert "gives" in answer, answer
    findings = answer["gives"]["report"]["findings"]
    return {**answer["gives"], "findings": findings, "assumed": plan["assumed"]}


def lines(finding: dict[str, Any]) -> list[int]:
    return sorted({finding["line"], finding["otherLine"] or finding["line"]})


def weights(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["severity"], one["kind"]) for one in found["findings"]]


def examples() -> dict[str, workbench.Example]:
    return {one.name: one for one in workbench.examples()}


@pytest.mark.parametrize("name", FAULTS)
def test_an_example_is_clean_and_its_fault_is_found_at_its_lines(name: str) -> None:
    example = examples()[name]
    clean = run(example.source)
    assert (clean["findings"], clean["assumed"]) == ([], [])
    before, after = example.fault
    assert example.source.count(before) == 1
    wrong = run(example.source.replace(before, after))
    first = wrong["findings"][0]
    assert (first["severity"], first["kind"], lines(first)) == ("error", *FAULTS[name])


def test_a_bank_conflict_names_two_lanes_their_bank_and_the_wavefronts() -> None:
    assert run(examples()["Transpose"].source)["conflicts"] == [
        [
            13,
            "Bank conflict: lanes 0 and 1 want different words of bank 0, 128 bytes apart: "
            "32 wavefronts for 1.",
        ]
    ]
    padded = examples()["Transpose"].source.replace("[TILE][TILE];", "[TILE][TILE + 1];")
    assert run(padded)["conflicts"] == []


SAXPY = """
__global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
    int n = 300;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    saxpy<<<2, 256>>>(x, y, 3.0f, n);
}
"""


REFERENCE = """void saxpy_cpu(const float* x, float* y, float a, int n) {
    for (int i = 0; i < n; ++i) y[i] += FACTOR * x[i];
}
"""


def test_a_result_is_compared_with_what_is_expected() -> None:
    right = {"name": "y", "by": "what is expected", "wrong": 0, "elements": 300,
             "maxAbsError": 0, "at": -1, "got": 0, "expected": 0}  # fmt: skip
    assert run(SAXPY)["compared"] is None
    assert run(SAXPY, "y = a * x + y")["compared"] == right
    assert run(SAXPY, "3 * x + y")["compared"] == right
    wrong = run(SAXPY, "y = 2 * x + y")["compared"]
    assert 200 < wrong["wrong"] < 300
    assert abs(wrong["got"] - wrong["expected"]) >= 1
    with pytest.raises(LabError, match="'z' is no array"):
        run(SAXPY, "z = x")
    with pytest.raises(LabError, match="“q” is not known"):
        run(SAXPY, "q * x")


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


def test_a_product_is_expected_by_its_matrices() -> None:
    source = examples()["Matrix product"].source
    assert run(source, "C = A @ B")["compared"]["wrong"] == 0
    assert run(source, "A @ B + 1")["compared"]["wrong"] > 0


def test_a_struct_is_an_argument_of_its_fields() -> None:
    text = """struct Line { const float* x; float* y; int n; };
__global__ void twice(Line p) { int i = threadIdx.x; if (i < p.n) p.y[i] = 2 * p.x[i]; }
int main() { Line p; p.n = 30; cudaMalloc(&p.x, 120); cudaMalloc(&p.y, 120); twice<<<1, 32>>>(p); }
"""
    assert plans(text)[0]["args"].split()[:2] == ["p_x:in:4096", "p_y:inout:4096"]
    assert run(text)["findings"] == []
    wrong = run(text.replace("p.y[i] = 2", "p.y[threadIdx.x % 2] = 2"))
    assert [kind for _, kind in weights(wrong)] == ["race"]


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


def test_a_launch_is_read_from_host_code_and_what_it_does_not_say_is_assumed() -> None:
    [plan] = plans(HOST.replace("<< <", "<<<").replace(">> >", ">>>"))
    assert (plan["grid"], plan["block"]) == (["16"], ["64", "1"])
    assert plan["args"] == "in:in:4096 out:inout:4096 n=4096"
    arrays = [f"Elements of {name} = 4096" for name in ("in", "out")]
    assert plan["assumed"] == ["n = 4096", *arrays]
    assert "launch" not in plan["device"]
    assert "Host" not in plan["device"]
    assert "\n" + " " * 33 + "\nnamespace mine {" in plan["device"]
    called = HOST + "int main() { launch(x, y, 1000); }"
    [plan] = plans(called.replace("<< <", "<<<").replace(">> >", ">>>"))
    assert plan["args"] == "in:in:1000 out:inout:1000 n=1000"
    assert plan["assumed"] == ["Elements of out = 1000"]


def test_a_size_too_large_for_a_page_shrinks_and_keeps_its_remainder() -> None:
    source = examples()["Matrix product"].source
    [plan] = plans(source)
    m, n, k = map(int, plan["args"].split()[3:])
    assert (m % 8, n % 64, k % 4) == (1000 % 8, 0, 0)
    assert max(m, n, k) <= 128
    [edited] = plans(source, {"size M": "20", "size N": "40", "size K": "8"})
    assert edited["grid"] == ["3", "2"]


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
def test_a_pasted_file_is_compiled_run_and_judged_in_the_page(
    chromium: Browser, site: Site
) -> None:
    page = opened(chromium, site, "light")
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.locator('[data-lab="faulty"]').check()
    page.locator('[data-lab="run"]').click()
    verdict = page.locator(".lab-launch .lab-bench-verdict")
    expect(verdict).to_contain_text("Threads race", timeout=90_000)
    expect(verdict).to_contain_text("Line 14")
    expect(page.locator(".is-named")).to_have_count(3)
    # Nothing of a pasted file reaches the page as HTML.
    hostile = "__global__ void bad() { } // <img src=x onerror=alert(1)>\n#error <b>no</b>\n"
    name = "hostile.cu"
    page.locator('[data-lab="open"]').set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": hostile.encode()}
    )
    expect(page.locator(".lab-launch-name")).to_contain_text("bad")
    page.locator('[data-lab="run"]').click()
    expect(verdict).to_contain_text("No race, overrun or unwritten read found", timeout=60_000)
    assert page.locator("img, .lab-launch b b").count() == 0
    page.locator('[data-lab="open"]').set_input_files(
        {"name": "saxpy.cu", "mimeType": "text/plain", "buffer": SAXPY.encode()}
    )
    expect(page.locator(".lab-launch-name")).to_contain_text("saxpy")
    page.locator(".lab-launch summary").first.click()
    field = page.get_by_label("Expected result")
    for text, says in (
        ("y = 3 * x + y", "All 300 elements of y equal what is expected."),
        ("y = x", "elements of y differ from what is expected: y["),
        ("<img src=x>", "Not run"),
    ):
        field.fill(text)
        field.press("Tab")
        page.locator('[data-lab="run"]').click()
        expect(verdict).to_contain_text(says, timeout=60_000)
    assert page.locator("img").count() == 0
    field.fill("")
    field.press("Tab")
    for factor, says in (
        ("a", "All 300 elements of y equal those of saxpy_cpu (line 12)."),
        ("2", "elements of y differ from those of saxpy_cpu (line 12): y["),
    ):
        text = SAXPY + REFERENCE.replace("FACTOR", factor)
        page.locator('[data-lab="open"]').set_input_files(
            {"name": "saxpy.cu", "mimeType": "text/plain", "buffer": text.encode()}
        )
        expect(page.locator(".lab-launch-name")).to_contain_text("saxpy")
        page.locator('[data-lab="run"]').click()
        expect(verdict).to_contain_text(says, timeout=60_000)
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
        (SAXPY, "No fault found"),
        (SAXPY.replace("i < n", "i <= n"), "A kernel has an error"),
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
    page.locator(".lab-launch summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults(page) == []
    grid = page.get_by_label("Grid")
    grid.fill("nonsense")
    grid.press("Tab")
    expect(page.locator(".lab-launch summary").first).to_contain_text("Grid: the value of")
    page.close()
