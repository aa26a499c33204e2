// @ts-check
// Regions that scroll sideways can be reached, and so scrolled, from the keyboard.
(() => {
  const SCROLLING = ".math, .lab-scroll, .lab-source pre, .lab-figure, .text_html";
  const mark = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const regions = document.querySelectorAll(SCROLLING);
    // All are measured before one is changed: the page is laid out once.
    const wide = [...regions].map((region) => region.scrollWidth > region.clientWidth + 1);
    for (const [place, region] of regions.entries()) {
      if (wide[place]) region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    }
  };
  addEventListener("load", () => document.fonts.ready.then(mark));
  addEventListener("resize", mark);
})();

// The search shows passages that it fetches from the pages. A page opened as a file may not fetch.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What a reader writes is compiled in the page, unless the device cannot.
window.labCompiles =
  location.protocol !== "file:" &&
  typeof WebAssembly === "object" &&
  !matchMedia("(pointer: coarse) and (max-width: 600px)").matches;

// A panel's script comes when the reader turns to a panel, has edited one before, or follows a link
// to an edit. A button that was pressed meanwhile is pressed again.
(() => {
  /** @type {NodeListOf<HTMLElement>} */
  const panels = document.querySelectorAll('[data-lab="panel"]');
  const own = document.currentScript;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => {
    loading ??= new Promise((done) => {
      const script = document.createElement("script");
      script.src = new URL("panel.js", own instanceof HTMLScriptElement ? own.src : "").href;
      script.onload = () => done();
      document.head.append(script);
    });
    return loading;
  };
  const edits = () => {
    try {
      return (localStorage.getItem("sgemm-lab:edits") ?? "{}") !== "{}";
    } catch {
      return false;
    }
  };
  for (const panel of panels) {
    panel.hidden = false;
    panel.addEventListener("focusin", load);
    panel.addEventListener("pointerenter", load);
    panel.addEventListener("click", ({ target }) => {
      if (panel.dataset.ready || !(target instanceof HTMLButtonElement)) return;
      panel.dataset.pressed = target.dataset.lab;
      load();
    });
  }
  if (panels.length && (location.hash.startsWith("#edit=") || edits())) load();
})();
