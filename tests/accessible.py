"""What axe finds at fault on a page."""

from collections.abc import Sequence

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that the same page in other colours can break."""
_ALIKE = 3
"""Of how many alike words the contrast is asked."""
_MARK = """([within, alike]) => {
  const grounds = new Map([[null, "page"]]);
  const groundOf = (one) => {
    if (!grounds.has(one)) {
      const { backgroundColor, backgroundImage, filter, mixBlendMode, opacity, position } =
        getComputedStyle(one);
      const own = [backgroundColor, backgroundImage, filter, mixBlendMode, opacity].join();
      const behind = groundOf(one.parentElement);
      const placed = /absolute|fixed|sticky/.test(position);
      const plain = own === "rgba(0, 0, 0, 0),none,none,normal,1" && !placed;
      grounds.set(one, plain ? behind : `${own}${placed ? grounds.size : ""}/${behind}`);
    }
    return grounds.get(one);
  };
  const seen = new Map();
  for (const one of document.querySelectorAll(`${within ?? "body"} *`)) {
    const says = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || one.closest("label, fieldset, select, button, [aria-disabled], svg")) continue;
    const { width, height } = one.getBoundingClientRect();
    if (width * height < 4 || !one.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontFamily, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const look = [groundOf(one), color, fontSize, fontWeight, textShadow, fontFamily].join("|");
    seen.set(look, (seen.get(look) ?? 0) + 1);
    if (seen.get(look) > alike) one.dataset.alike = "";
  }
}"""
"""Mark words whose letters, and all grounds behind them, look like those of some before them."""
_RUN = """async ([within, only]) => {
  const rules = only.length
    ? { runOnly: { type: "rule", values: only } }
    : { rules: { "target-size": { enabled: true } } };
  axe.configure({ rules: [{ id: "color-contrast", selector: ":not([data-alike])" }] });
  const found = await axe.run(within ?? document, { resultTypes: ["violations"], ...rules });
  for (const one of document.querySelectorAll("[data-alike]")) delete one.dataset.alike;
  const faults = found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target} ${node.failureSummary ?? ""}`));
  return { faults, passed: found.passes.length };
}"""


def faults(page: Page, within: str | None = None, only: Sequence[str] = ()) -> list[str]:
    """Return what is at fault on a page, or within a part of it, by all rules or some.

    Contrast takes most of axe's time, and a listing has hundreds of words of each look: it is
    asked of a few of those that look alike.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    page.evaluate(_MARK, [within, _ALIKE])
    found = page.evaluate(_RUN, [within, list(only)])
    assert found["passed"] > (0 if only else 8), "Axe has hardly looked at anything."
    return list(found["faults"])
