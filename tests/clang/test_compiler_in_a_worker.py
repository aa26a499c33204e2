"""The pages' compiler in a browser's Worker: from the site, then from the browser's cache."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from compiler_here import compiled, package

from sgemm_lab.bundles import bundled
from sgemm_lab.catalogue import load_kernel
from sgemm_lab.clang.package import write_site
from sgemm_lab.files import PACKAGE

pytestmark = pytest.mark.browser

SOURCE = load_kernel("tiled").source
PAGE = """<!doctype html>
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'">
<title>Compiler</title>
"""
WORKER = """
import compiler from "./compiler.js";
import site from "./site.js";

onmessage = async ({ data }) => {
  try {
    const bytes = [];
    const folder = new URL("./clang/", location.href).href;
    const clang = await site.importPackage(folder, (done, total) => bytes.push([done, total]));
    const compile = await compiler.loadCompiler(clang);
    postMessage({ answers: data.map((source) => compile(source, { file: "k.cu" })), bytes });
  } catch (error) {
    postMessage({ error: String(error.stack) });
  }
};
"""
ASK = """(sources) => new Promise((resolve) => {
  const worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = async ({ data }) => {
    // The files are put into the cache meanwhile; a worker that is ended puts no more.
    while (!data.error && (await kept()) < 4) await new Promise((go) => setTimeout(go, 20));
    worker.terminate();
    resolve(data);
  };
  const kept = async () => {
    const names = await caches.keys();
    return (await Promise.all(names.map(async (name) => (await caches.open(name)).keys())))
      .flat().length;
  };
  worker.onerror = ({ message }) => resolve({ error: message });
  worker.postMessage(sources);
})"""


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder and notes what was asked for."""

    asked: list[str]

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        self.asked.append(self.path.rsplit("/", 1)[-1])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    folder = tmp_path_factory.mktemp("site")
    package()
    write_site(folder / "clang")
    for module in ("compiler", "site"):
        code = bundled(PACKAGE / "clang" / f"{module}.ts")
        (folder / f"{module}.js").write_text(code, encoding="utf-8")
    (folder / "worker.js").write_text(WORKER, encoding="utf-8")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    handler = type("Noting", (Handler,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html", handler.asked
    server.shutdown()
    server.server_close()


def test_worker_compiles_as_node_does_and_keeps_the_files(
    reading: Any, site: tuple[str, list[str]]
) -> None:
    address, asked = site
    page = reading().new_page()
    page.goto(address)
    wrong = "\n__global__ void k() { x = 1; }"
    first: dict[str, Any] = page.evaluate(ASK, [SOURCE, wrong])
    assert first["answers"] == [compiled(SOURCE, file="k.cu"), compiled(wrong, file="k.cu")]
    done, total = first["bytes"][-1]
    assert done == total
    assert sum(name.endswith(".wasm.gz") for name in asked) == 4
    asked.clear()
    again = page.evaluate(ASK, [SOURCE])
    assert again["answers"] == first["answers"][:1]
    assert not any(name.endswith(".wasm.gz") for name in asked)
