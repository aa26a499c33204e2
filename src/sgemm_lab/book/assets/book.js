// @ts-check
// Regions that scroll sideways can be reached, and so scrolled, from the keyboard.
(() => {
  const SCROLLING = ".math, .lab-scroll, .lab-source pre, .lab-figure, .text_html";
  const mark = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const regions = document.querySelectorAll(SCROLLING);
    for (const region of regions) {
      if (region.scrollWidth > region.clientWidth + 1) region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    }
  };
  addEventListener("load", () => {
    const ready = window.MathJax?.startup?.promise ?? Promise.resolve();
    ready.then(mark);
  });
  addEventListener("resize", mark);
})();

// The search shows passages that it fetches from the pages. A page opened as a file may not fetch.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
