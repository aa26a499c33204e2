// Draws the widgets of a page that has no kernel: reads the saved state, hands each widget a
// model, and calls the same initialize and render that Jupyter calls.

import { PageModel, type Saved, withBuffers } from "./model.ts";

/**
 * What render.py wrote into the page. A kind of widget is the name of one of the book's, or code of
 * its own.
 */
interface PageState {
  kinds: Record<string, string | { script: string; sheet: string }>;
  models: Record<string, Saved>;
}

/** What stands on the element of a widget that is drawn, for scripts that show more beside it. */
interface Given {
  model: PageModel;
  el?: Element;
  signal: AbortSignal;
}

export interface Drawn {
  kind: string;
  model: PageModel;
  widget: Widget;
}

interface Widget {
  initialize?: (given: Given) => unknown;
  render: (given: Given) => unknown;
}

const STATE = 'script[type="application/vnd.sgemm-lab.page-widgets+json"]';

async function load(text: string): Promise<Widget> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const { default: widget } = await import(url);
    return typeof widget === "function" ? await widget() : widget;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Elements with their distance from what the reader sees, in px; what is seen comes first. */
function nearestFirst(elements: NodeListOf<HTMLElement>) {
  return [...elements]
    .map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return { element, distance: Math.max(0, top - innerHeight, -bottom) };
    })
    .sort((one, other) => one.distance - other.distance);
}

/** A function that makes a thing for each key once. */
function once<T>(make: (key: string) => T) {
  const made: Map<string, T> = new Map();
  return (key: string) => {
    const thing = made.get(key) ?? make(key);
    made.set(key, thing);
    return thing;
  };
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
  const page: PageState = JSON.parse(document.querySelector(STATE)?.textContent ?? "{}");
  const signal = new AbortController().signal;
  const widgetOf = once(async (kind) => {
    const code = page.kinds[kind];
    if (typeof code === "string") return (window.labWidgets as Record<string, Widget>)[code];
    const style = Object.assign(document.createElement("style"), { textContent: code.sheet });
    document.head.append(style);
    return load(code.script);
  });
  const modelOf = once(async (id) => {
    const saved = page.models[id];
    const model = new PageModel(withBuffers(saved));
    const widget = await widgetOf(saved.kind);
    await widget.initialize?.({ model, signal });
    return { kind: saved.kind, model, widget };
  });

  const places: NodeListOf<HTMLElement> = document.querySelectorAll(".lab-widget");
  for (const { element, distance } of nearestFirst(places)) {
    if (distance) await new Promise((done) => setTimeout(done)); // meanwhile the page answers
    await drawInto(element, () => modelOf(element.dataset.modelId ?? ""));
  }

  async function drawInto(place: HTMLElement, get: () => Promise<Drawn>) {
    const el = place.querySelector(".lab-widget-live") as Element;
    try {
      const drawn = await get();
      const { model, widget } = drawn;
      place.classList.add("is-drawing"); // visible, so that the widget can measure itself
      await widget.render({ model, el, signal });
      place.classList.add("is-live");
      Object.assign(place, { labDrawn: drawn });
    } catch (error) {
      el.replaceChildren();
      console.error(`The widget ${place.dataset.modelId} could not be drawn.`, error);
    } finally {
      place.classList.remove("is-drawing");
    }
  }
}
