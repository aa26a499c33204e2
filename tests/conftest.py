"""What all tests share: where the GPU tests run, and one browser for all that need one."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sgemm_lab.cuda.code_cache import FOLDER
from sgemm_lab.cuda.launch import has_gpu
from sgemm_lab.errors import MissingToolError

# Machines with a GPU have no browser: Playwright is imported where a browser is asked for.
if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Playwright

GPU = pytest.StashKey[bool]()
LEFT_OUT = pytest.StashKey[int]()
CHROMIUM_ONLY = "chromium_only(why): Firefox can't be asked for what this needs"
SAMPLED = (
    "sampled(every, first=0, of='test'): one case of so many, or with of='module' one test of so "
    "many; the others run with -m whole"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--in",
        dest="reader",
        choices=("chromium", "firefox"),
        default="chromium",
        help="the browser that reads; with firefox only tests run that can use either",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Machine code of earlier runs is used again, but none of the user's.
    os.environ[FOLDER] = str(config.rootpath / ".pytest_cache" / "machine_code")
    gc.disable()  # thousands of tests and their modules are made, and all stay
    if not hasattr(config, "workerinput"):
        build_bundles()
    config.stash[GPU] = has_gpu()
    # Told here too, for machines that run the GPU tests without the project's configuration.
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU; deselected where there is none")
    config.addinivalue_line("markers", SAMPLED)
    config.addinivalue_line("markers", CHROMIUM_ONLY)


def build_bundles() -> None:
    """Bundle the TypeScript, if a source has changed. A machine for GPU tests alone has no Node."""
    with suppress(ImportError):
        from sgemm_lab import bundles

        try:
            bundles.build()
        except MissingToolError as missing:
            print(f"Bundles may be missing or old. {missing}")


def mark_what_a_sample_leaves_out(items: list[pytest.Item]) -> None:
    """Mark as ``whole`` the cases and tests that ``sampled`` does not choose."""
    cases: Counter[str] = Counter()
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            among = "::" if sampled.kwargs.get("of") == "module" else "["
            counted = item.nodeid.partition(among)[0]
            if (cases[counted] - sampled.kwargs.get("first", 0)) % sampled.kwargs["every"]:
                item.add_marker("whole")
            cases[counted] += 1


def reads_in_either(item: pytest.Item) -> bool:
    """Whether a test reads pages, and needs nothing for it that only Chromium has."""
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return "reader" in fixtures and not item.get_closest_marker("chromium_only")


def choose(
    config: pytest.Config, items: list[pytest.Item], wanted: Callable[[pytest.Item], bool]
) -> int:
    """Leave out the tests that are not wanted; return how many."""
    left_out = [item for item in items if not wanted(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if wanted(item)]
    return len(left_out)


@pytest.hookimpl(tryfirst=True)  # before pytest reads the markers that it selects by
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_what_a_sample_leaves_out(items)
    if config.getoption("reader") == "firefox":
        choose(config, items, reads_in_either)
    if config.stash[GPU]:
        return
    config.stash[LEFT_OUT] = choose(config, items, lambda it: not it.get_closest_marker("gpu"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    count = config.stash.get(LEFT_OUT, 0)
    return f"No GPU here: {count} tests that need one are left out." if count else ""


Launch = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium_program() -> str:
    """Return the program of a Chromium. To look for it may start a Playwright and end it."""
    import browser

    program = browser.find()
    assert program, "No browser. Run: python tests/browser.py"
    return program


@pytest.fixture(scope="session")
def playwright(chromium_program: str) -> Iterator[Playwright]:
    """Return what drives all browsers. There can be only one of it, so the search comes before."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def launch(playwright: Playwright, chromium_program: str) -> Launch:
    """Return a function that starts a browser, with more flags if any."""
    import browser

    return lambda *more: playwright.chromium.launch(
        executable_path=chromium_program, args=[*browser.FLAGS, *more]
    )


@pytest.fixture(scope="session")
def chromium(launch: Launch) -> Iterator[Browser]:
    with launch() as opened:
        yield opened


@pytest.fixture(scope="session")
def firefox(playwright: Playwright) -> Iterator[Browser]:
    import browser

    program = browser.find_firefox()
    assert program, "No Firefox. Run: python tests/browser.py"
    opened = playwright.firefox.launch(
        executable_path=program,
        channel="moz-firefox",  # the makers' own build, not Playwright's
        firefox_user_prefs=browser.FIREFOX_SETTINGS,
    )
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def reader(request: pytest.FixtureRequest) -> Browser:
    """Return the browser that the command line chose, for tests that can use either."""
    chosen: Browser = request.getfixturevalue(request.config.getoption("reader"))
    return chosen


@pytest.fixture
def reading(reader: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Return a function that opens a fresh profile: still, and with settings the browser has."""
    import browser

    opened: list[BrowserContext] = []

    def profile(**options: Any) -> BrowserContext:
        opened.append(reader.new_context(**browser.still(reader, **options)))
        return opened[-1]

    yield profile
    for context in opened:
        context.close()


@pytest.fixture(scope="session")
def chromium_with_card(launch: Launch) -> Iterator[Browser]:
    """Return a browser whose pages have a graphics card: SwiftShader, a processor that acts one."""
    with launch("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader") as opened:
        yield opened
