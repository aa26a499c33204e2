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

/** Elements with their distance from what the reader sees, in px; what is seen comes first. */
function nearestFirst(elements: NodeListOf<Place>) {
  return [...elements]
    .map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return { element, distance: Math.max(0, top - innerHeight, -bottom) };
    })
    .sort((one, other) => one.distance - other.distance);
}

declare global {
  interface Window {
    /** The book's widgets, by name: each script of a widget adds its own. */
    labWidgets?: Record<string, Widget>;
    /** Comes true when all widgets of the page are drawn; not there on a page without any. */
    labWidgetsDrawn?: Promise<boolean>;
  }
}

/** Draw all widgets of the page when the scripts that come after this one have run. */
export function drawWhenReady() {
  const ready = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  window.labWidgetsDrawn = ready.then(drawAll).then(() => true);
}

async function drawAll() {
  const page = savedWidgets();
  const models: Map<string, PageModel> = new Map();
  const places: NodeListOf<Place> = document.querySelectorAll(".lab-widget");
  for (const { element, distance } of nearestFirst(places)) {
    if (distance) await new Promise((done) => setTimeout(done)); // meanwhile the page answers
    await drawInto(element, element.dataset.modelId ?? "");
  }

  async function drawInto(place: Place, id: string) {
    const el = place.querySelector(".lab-widget-live") as Element;
    try {
      const model = models.get(id) ?? new PageModel(withBuffers(page[id]));
      models.set(id, model);
      place.classList.add("is-drawing"); // visible, so that the widget can measure itself
      await (window.labWidgets as Record<string, Widget>)[page[id].kind].render({ model, el });
      place.classList.add("is-live");
      place.labDrawn = { model };
    } catch (error) {
      el.replaceChildren();
      console.error(`The widget ${id} could not be drawn.`, error);
    } finally {
      place.classList.remove("is-drawing");
    }
  }
}
