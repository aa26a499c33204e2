// @ts-check
// Draws the widgets of a page that has no kernel: reads the saved state, hands each widget a
// model, and calls the same initialize and render that Jupyter calls.

import { PageModel } from "./model.js";

/**
 * A widget's state as it was saved; `buffers` are bytes in base 64 that belong inside it.
 * @typedef {object} Saved
 * @property {string} kind
 * @property {Record<string, unknown>} state
 * @property {{ path: string[], data: string }[]} buffers
 *
 * What render.py wrote into the page: of each kind of widget the names of the parts that its script
 * and style sheet are made of, and the parts that are not the book's own.
 * @typedef {object} PageState
 * @property {Record<string, { script: string[], sheet: string[] }>} kinds
 * @property {Record<string, string>} parts
 * @property {Record<string, Saved>} models
 *
 * @typedef {{ model: PageModel, el?: Element, signal: AbortSignal }} Given
 * What stands on the element of a widget that is drawn, for scripts that show more beside it.
 * @typedef {{ kind: string, model: PageModel, widget: Widget }} Drawn
 *
 * @typedef {object} Widget
 * @property {(given: Given) => unknown} [initialize]
 * @property {(given: Given) => unknown} render
 */

const STATE = 'script[type="application/vnd.sgemm-lab.page-widgets+json"]';

/**
 * @param {Saved} saved
 */
function withBuffers({ state, buffers }) {
  for (const { path, data } of buffers) {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const owner = path
      .slice(0, -1)
      .reduce((value, key) => /** @type {Record<string, unknown>} */ (value[key]), state);
    owner[path[path.length - 1]] = new DataView(bytes.buffer);
  }
  return state;
}

/**
 * @param {string} text
 * @returns {Promise<Widget>}
 */
async function load(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const { default: widget } = await import(url);
    return typeof widget === "function" ? await widget() : widget;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Elements with their distance from what the reader sees, in px; what is seen comes first.
 * @param {NodeListOf<HTMLElement>} elements
 */
function nearestFirst(elements) {
  return [...elements]
    .map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return { element, distance: Math.max(0, top - innerHeight, -bottom) };
    })
    .sort((one, other) => one.distance - other.distance);
}

/**
 * A function that makes a thing for each key once.
 * @template T
 * @param {(key: string) => T} make
 */
function once(make) {
  /** @type {Map<string, T>} */
  const made = new Map();
  return (/** @type {string} */ key) => {
    const thing = made.get(key) ?? make(key);
    made.set(key, thing);
    return thing;
  };
}

/**
 * Draw all widgets of the page.
 * @param {Record<string, string>} library the parts of the book's own widgets
 */
export async function drawAll(library) {
  /** @type {PageState} */
  const page = JSON.parse(document.querySelector(STATE)?.textContent ?? "{}");
  const parts = { ...library, ...page.parts };
  const signal = new AbortController().signal;
  const style = once((name) => {
    const sheet = Object.assign(document.createElement("style"), { textContent: parts[name] });
    document.head.append(sheet);
    return sheet;
  });
  const widgetOf = once((kind) => {
    const { script, sheet } = page.kinds[kind];
    sheet.forEach(style);
    return load(script.map((name) => parts[name]).join(""));
  });
  const modelOf = once(async (id) => {
    const saved = page.models[id];
    const model = new PageModel(withBuffers(saved));
    const widget = await widgetOf(saved.kind);
    await widget.initialize?.({ model, signal });
    return { kind: saved.kind, model, widget };
  });

  /** @type {NodeListOf<HTMLElement>} */
  const places = document.querySelectorAll(".lab-widget");
  for (const { element, distance } of nearestFirst(places)) {
    if (distance) await new Promise((done) => setTimeout(done)); // meanwhile the page answers
    await drawInto(element, () => modelOf(element.dataset.modelId ?? ""));
  }

  /**
   * @param {HTMLElement} place
   * @param {() => Promise<Drawn>} get
   */
  async function drawInto(place, get) {
    const el = /** @type {Element} */ (place.querySelector(".lab-widget-live"));
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
