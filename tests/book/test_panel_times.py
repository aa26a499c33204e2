"""How soon a panel counts, and how soon an edit has its verdict. Run by ``make bench``.

The workers of the panels are asked as a page asks them, in Chromium. Nothing else may run beside
it; the load of the machine stands beside the times.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler_here import package
from playwright.sync_api import Browser, Page
from sites import Site, served

from sgemm_lab.book import panels
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.checking.judge import QUICK_SIZES
from sgemm_lab.clang.package import write_site
from sgemm_lab.cuda.shipped_ptx import shipped_text
from sgemm_lab.gpu import find_gpu

pytestmark = [pytest.mark.bench, pytest.mark.browser]

CHAPTERS = Path(__file__).parents[2] / "chapters"
NAMES = [
    name
    for page in sorted(CHAPTERS.glob("*.md"))
    for name in re.findall(r"```\{panel\} (\w+)", page.read_text(encoding="utf-8"))
]
UP_TO_TILED = NAMES[: NAMES.index("tiled") + 1]
FIRST_MS, COUNT_MS = 500, {64: 100, 128: 400}
FIRST_EDIT_MS, SHORT_EDIT_MS, EDIT_MS = 6000, 1000, 3000
REPEATS = 3

SCRIPTS = ("panel-engine.js", "panel-compiler.js")
ASKING = """
const start = (text) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  return new Worker(address);
};
const ask = (worker, request) => new Promise((done, fail) => {
  worker.onmessage = ({ data }) => {
    if (data.fault) fail(new Error(data.fault));
    else if (!data.progress) done(data);
  };
  worker.onerror = ({ message }) => fail(new Error(message));
  worker.postMessage({ ...request, id: 1 });
});
const timed = async (work) => {
  const before = performance.now();
  return { gives: await work(), ms: performance.now() - before };
};
"""
COUNT = """async ({ source, ptx, gpu, sizes, repeats }) => {
  const first = [];
  const later = sizes.map(() => []);
  for (let i = 0; i < repeats; i += 1) {
    const engine = start(labEngine);
    for (const [at, n] of sizes.entries()) {
      const request = { task: "count", source, ptx, gpu, size: [n, n, n] };
      const { ms } = await timed(() => ask(engine, request));
      if (at === 0) first.push(ms);
      later[at].push((await timed(() => ask(engine, request))).ms);
    }
    engine.terminate();
  }
  return { first, later };
}"""
EDIT = """async ({ source, sizes, repeats }) => {
  const engines = [start(labEngine), start(labEngine)];
  const folder = new URL(labCompiler.folder, location.href).href;
  window.compiler ??= start(labCompiler.script);
  const times = [];
  for (let i = 0; i <= repeats; i += 1) {
    times.push((await timed(async () => {
      const { compiled } = await ask(window.compiler, { source: `${source}// ${i}\\n`, folder });
      let next = 0;
      await Promise.all(engines.map(async (engine) => {
        while (next < sizes.length) {
          const request = { task: "check", source, ptx: compiled.ptx, size: sizes[next++] };
          const { result, last } = await ask(engine, request);
          if (last) throw new Error(result.fault ?? result.refusal);
        }
      }));
    })).ms);
  }
  for (const engine of engines) engine.terminate();
  return times;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("times")
    package()
    sizes = write_site(folder / "clang")
    for file, text in panels.site_files(NAMES, sizes).items():
        (folder / file).write_text(text, encoding="utf-8")
    scripts = "".join(f'<script src="{name}"></script>' for name in SCRIPTS)
    (folder / "index.html").write_text(f"<!doctype html>{scripts}<script>{ASKING}</script>")
    with served(folder) as served_site:
        yield served_site


@pytest.fixture
def page(chromium: Browser, site: Site) -> Iterator[Page]:
    context = chromium.new_context()
    opened = context.new_page()
    opened.goto(site.url("index.html"))
    yield opened
    context.close()


def head(title: str) -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"\n{title}\nload of the machine: {load:.1f} on {os.cpu_count()} processors")


def test_the_books_kernels_are_counted_at_once(page: Page) -> None:
    gpu = find_gpu("h200")
    sheet = {field: getattr(gpu, field) for field in panels.SHEET}
    sizes = list(COUNT_MS)
    head("ms to count a kernel from shipped PTX: the first run, the fastest of the later ones")
    slow = []
    for name in NAMES:
        kernel = load_kernel(name)
        ptx = shipped_text(kernel)
        given = {"source": kernel.source, "ptx": ptx, "gpu": sheet, "sizes": sizes}
        times: dict[str, Any] = page.evaluate(COUNT, {**given, "repeats": REPEATS})
        first, later = min(times["first"]), [min(each) for each in times["later"]]
        columns = "".join(f"{n:>7}³ {ms:7.0f}" for n, ms in zip(sizes, later, strict=True))
        print(f"  {name:16} first {first:6.0f}{columns}", flush=True)
        allowed = [FIRST_MS, *COUNT_MS.values()]
        if any(ms > most for ms, most in zip([first, *later], allowed, strict=True)):
            slow.append(name)
    assert slow == []


def test_an_edit_has_its_verdict_soon(page: Page) -> None:
    head("ms from Run to the verdict of an edit, compiled in the page: the first, the fastest")
    slow = []
    for name in NAMES:
        source = load_kernel(name).source
        given = {"source": source, "sizes": QUICK_SIZES, "repeats": REPEATS}
        first, *later = page.evaluate(EDIT, given)
        print(f"  {name:16} first {first:6.0f}   later {min(later):6.0f}", flush=True)
        allowed = SHORT_EDIT_MS if name in UP_TO_TILED else EDIT_MS
        if first > FIRST_EDIT_MS or min(later) > allowed:
            slow.append(name)
    assert slow == []
