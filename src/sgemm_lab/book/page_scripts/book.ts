import { storedText } from "../storage.ts";

// Regions that scroll sideways can be reached, and so scrolled, from the keyboard. They are measured
// where the browser has laid them out: what is folded or hidden, once it is shown.
(() => {
  const SCROLLING =
    ".math, .lab-scroll, .lab-figure, .output, .pst-scrollable-table-container, pre:not([aria-hidden])";
  const sizes = new ResizeObserver((entries) => {
    for (const region of entries.map(({ target }) => target as HTMLElement)) {
      if (region.scrollWidth > region.clientWidth + 1) region.tabIndex = 0;
      else region.removeAttribute("tabindex");
    }
  });
  addEventListener("load", async () => {
    await document.fonts.ready;
    for (const region of document.querySelectorAll(SCROLLING)) sizes.observe(region);
  });
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
  // The script of a panel or of the workbench comes when the reader turns to it, has edited one
  // before, or follows a link to an edit.
  for (const name of ["panel", "workbench"]) {
    const places: NodeListOf<HTMLElement> = document.querySelectorAll(`[data-lab="${name}"]`);
    const load = loader(`${name}.js`);
    for (const place of places) {
      wake(place, load);
      for (const event of ["focusin", "pointerenter", "dragenter"]) {
        place.addEventListener(event, load);
      }
    }
    const edited =
      location.hash.startsWith("#edit=") || !["", "{}"].includes(storedText("sgemm-lab:edits"));
    if (places.length && edited) load();
  }

  // What measures the reader's GPU comes when it is asked for.
  const cards: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="reader-card"]');
  for (const card of cards) wake(card, loader("reader-card.js"));
})();
