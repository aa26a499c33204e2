"""What axe finds at fault on a page."""

from collections.abc import Sequence

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that the same page in other colours can break."""
_RUN = """async ([within, only]) => {
  const rules = only.length ? { runOnly: { type: "rule", values: only } } : {};
  const found = await axe.run(within ?? document, { resultTypes: ["violations"], ...rules });
  const faults = found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target} ${node.failureSummary ?? ""}`));
  return { faults, passed: found.passes.length };
}"""


def faults(page: Page, within: str | None = None, only: Sequence[str] = ()) -> list[str]:
    """Return what is at fault on a page, or within a part of it, by all rules or some."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(_RUN, [within, list(only)])
    assert found["passed"] > (0 if only else 8), "Axe has hardly looked at anything."
    return list(found["faults"])
