// Regions that scroll sideways can be reached, and so scrolled, from the keyboard.
(() => {
  const SCROLLING = ".math, .lab-scroll, .lab-source pre, .lab-figure, .text_html";
  const mark = () => {
    const regions: NodeListOf<HTMLElement> = document.querySelectorAll(SCROLLING);
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

// Sphinx measures what it highlights; a picture's title and description have no box.
// @ts-expect-error: the method is new there.
SVGElement.prototype.getBBox ??= () => new DOMRect();

// The search shows passages that it fetches from the pages. A page opened as a file may not fetch.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A single letter is on every page: the search for "Stream-K" looks for "Stream".
window.splitQuery = (query: string) => {
  const words = query.split(/[^\p{Letter}\p{Number}_]+/gu).filter((word) => word);
  const long = words.filter((word) => word.length > 1);
  return long.length ? long : words;
};

// What a reader writes is compiled in the page, unless the device cannot.
window.labCompiles =
  location.protocol !== "file:" &&
  typeof WebAssembly === "object" &&
  !matchMedia("(pointer: coarse) and (max-width: 600px)").matches;

// Scripts of the site that come when the reader turns to what they bring to life.
(() => {
  const own = document.currentScript;
  /** @returns loads it, once */
  const loader = (file: string): (() => void) => {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      const script = document.createElement("script");
      script.src = new URL(file, own instanceof HTMLScriptElement ? own.src : "").href;
      document.head.append(script);
    };
  };
  /**
   * Show an element that is dead without its script. A button that is pressed before the script is
   * there is pressed again by it.
   */
  const wake = (element: HTMLElement, load: () => void) => {
    element.hidden = false;
    element.addEventListener("click", ({ target }) => {
      if (element.dataset.ready || !(target instanceof HTMLButtonElement)) return;
      element.dataset.pressed = target.dataset.lab;
      load();
    });
  };
  const kept = (key: string) => {
    try {
      return (localStorage.getItem(key) ?? "{}") !== "{}";
    } catch {
      return false;
    }
  };

  // A panel's script comes when the reader turns to a panel, has edited one before, or follows a
  // link to an edit.
  const panels: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="panel"]');
  const loadPanels = loader("panel.js");
  for (const panel of panels) {
    wake(panel, loadPanels);
    panel.addEventListener("focusin", loadPanels);
    panel.addEventListener("pointerenter", loadPanels);
  }
  if (panels.length && (location.hash.startsWith("#edit=") || kept("sgemm-lab:edits")))
    loadPanels();

  const benches: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="workbench"]');
  const loadBench = loader("workbench.js");
  for (const bench of benches) {
    wake(bench, loadBench);
    bench.addEventListener("focusin", loadBench);
    bench.addEventListener("pointerenter", loadBench);
    bench.addEventListener("dragenter", loadBench);
  }
  if (benches.length && (location.hash.startsWith("#edit=") || kept("sgemm-lab:edits")))
    loadBench();

  // What measures the reader's card comes when it is asked for, was before, or a link brings a card.
  // A step of a chapter is measured only when it is asked for.
  const cards: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="reader-card"]');
  const loadCard = loader("reader-card.js");
  for (const card of cards) wake(card, loadCard);
  if (document.querySelector('[data-lab="reader-card"]:not([data-program])')) {
    const follow = () => location.hash.startsWith("#card=") && loadCard();
    addEventListener("hashchange", follow);
    if (!follow() && kept("sgemm-lab:card")) loadCard();
  }

  // A kept card stands in closing boxes, beside rooflines and beside plots of speed over size.
  const BESIDE = ".lab-closing[data-program], .lab-widget, svg[data-speeds]";
  if (kept("sgemm-lab:card") && document.querySelector(BESIDE)) loader("card-in-chapter.js")();
})();
