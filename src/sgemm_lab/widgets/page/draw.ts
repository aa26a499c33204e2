// Draws the widgets of a page that has no kernel: reads the saved state, hands each widget a
// model, and calls the same render that Jupyter calls.

import { PageModel, type Saved, withBuffers } from "./model.ts";

interface Widget {
  render: (given: { model: PageModel; el: Element }) => unknown;
}

/** The element of a widget; `labDrawn` is for scripts that show more beside it. */
export type Place = HTMLElement & { labDrawn?: { model: PageModel } };

const STATE = 'script[type="application/vnd.sgemm-lab.page-widgets+json"]';

/** What render.py wrote into the page, by id of a model. */
function savedWidgets(): Record<string, Saved> {
  return JSON.parse(document.querySelector(STATE)?.textContent ?? "{}");
}

declare global {
  interface Window {
    /** The book's widgets, by name: each script of a widget adds its own. */
    labWidgets?: Record<string, Widget>;
    /** Draws widgets now, all of the page unless some are given; not there on a page without any. */
    labDrawWidgets?: (places?: Iterable<Place>) => Promise<void>;
  }
}

const NEAR = "1000px"; // above and below what the reader sees: drawn before it is reached

/**
 * Draw each widget of the page when it comes near what the reader sees, its still picture until then.
 * A widget that is drawn sends the event "lab-drawn".
 */
export function drawWhenNear() {
  const ready = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  const drawn: Map<Place, Promise<void>> = new Map();
  const models: Map<string, PageModel> = new Map();
  const page = ready.then(savedWidgets); // when the scripts that come after this one have run
  const all: () => NodeListOf<Place> = () => document.querySelectorAll(".lab-widget");
  window.labDrawWidgets = draw;
  page.then(() => {
    const watch = (entries: IntersectionObserverEntry[]) => {
      const near = entries.filter(({ isIntersecting }) => isIntersecting);
      for (const { target } of near) observer.unobserve(target);
      draw(near.map(({ target }) => target as Place));
    };
    const observer = new IntersectionObserver(watch, { rootMargin: `${NEAR} 0px` });
    for (const place of all()) observer.observe(place);
  });

  async function draw(places: Iterable<Place> = all()) {
    for (const place of places) {
      if (!drawn.has(place)) drawn.set(place, drawInto(place, place.dataset.modelId ?? ""));
      await drawn.get(place);
      await new Promise((done) => setTimeout(done)); // meanwhile the page answers
    }
  }

  async function drawInto(place: Place, id: string) {
    const saved = (await page)[id];
    const el = place.querySelector(".lab-widget-live") as Element;
    try {
      const model = models.get(id) ?? new PageModel(withBuffers(saved));
      models.set(id, model);
      place.classList.add("is-drawing"); // visible, so that the widget can measure itself
      await (window.labWidgets as Record<string, Widget>)[saved.kind].render({ model, el });
      place.classList.add("is-live");
      place.labDrawn = { model };
      place.dispatchEvent(new Event("lab-drawn", { bubbles: true }));
    } catch (error) {
      el.replaceChildren();
      console.error(`The widget ${id} could not be drawn.`, error);
    } finally {
      place.classList.remove("is-drawing");
    }
  }
}
