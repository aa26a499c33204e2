// @ts-check
// Between a widget's state and its pictures: redrawing at the right moment, and the room there is.

import { html } from "./dom.js";

/** @type {WeakMap<HTMLElement, number>} widths, as long as changes of them are heard of */
const widths = new WeakMap();

/**
 * Call `update` once however many changes come before the browser draws again.
 * @param {() => void} update
 */
export function redrawer(update) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      update();
    });
  };
}

/**
 * Call `react` on a change of any of `names` in the model. Returns a function that stops it.
 * @template S
 * @param {Model<S>} model
 * @param {readonly (keyof S & string)[]} names
 * @param {() => void} react
 */
export function listen(model, names, react) {
  for (const name of names) model.on(`change:${name}`, react);
  return () => {
    for (const name of names) model.off(`change:${name}`, react);
  };
}

/**
 * Call `react` when the width of `root` changes. Returns a function that stops it.
 * @param {HTMLElement} root
 * @param {() => void} react
 */
export function onResize(root, react) {
  let drawn = root.clientWidth;
  // A frame later, because a redraw may change the height that is being observed.
  const observer = new ResizeObserver(() => {
    widths.set(root, root.clientWidth);
    requestAnimationFrame(() => {
      // What is drawn gets the width that was heard of; of a later one is heard later.
      const width = widths.get(root);
      if (width === undefined || width === drawn) return;
      drawn = width;
      react();
    });
  });
  observer.observe(root);
  return () => {
    observer.disconnect();
    widths.delete(root);
  };
}

/**
 * Draw now, and again when the state or the width changes. Returns a function that stops it.
 * @template S
 * @param {Model<S>} model
 * @param {readonly (keyof S & string)[]} names
 * @param {HTMLElement} root
 * @param {() => void} update
 * @param {() => void} redraw
 * @param {(() => void)[]} more
 */
export function keepDrawn(model, names, root, update, redraw, ...more) {
  update();
  const stops = [listen(model, names, redraw), onResize(root, redraw), ...more];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * The width that a picture in `root` has, in px; a guess where the page has not placed it yet.
 * To ask the page anew while something moves would lay it out once more.
 * @param {HTMLElement} root
 */
export function roomIn(root) {
  const width = widths.get(root) ?? root.clientWidth;
  return width ? width - 28 : 660; // less the padding of .sgemm-lab
}

/**
 * Set one key of the model and tell Python, where there is one.
 * @template S
 * @template {keyof S & string} K
 * @param {Model<S>} model
 * @param {K} name
 * @param {S[K]} value
 */
export function put(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/**
 * What sets one key of the model, as `put` does, and then calls `redraw`.
 * @template S
 * @param {Model<S>} model
 * @param {() => void} redraw
 * @returns {<K extends keyof S & string>(name: K, value: S[K]) => void}
 */
export function changer(model, redraw) {
  return (name, value) => {
    put(model, name, value);
    redraw();
  };
}

/**
 * The GPU chosen, or the first where there is none of that name.
 * @template {{ id: string }} G
 * @param {Model<{ gpus: G[], gpu: string }>} model
 * @returns {G}
 */
export function chosenGpu(model) {
  const gpus = model.get("gpus");
  return gpus.find((gpu) => gpu.id === model.get("gpu")) ?? gpus[0];
}

/**
 * A choice among GPUs, or nothing where there is only one.
 * @param {Model<{ gpus: { id: string, name: string }[], gpu: string }>} model
 */
export function gpuChooser(model) {
  const select = html("select", { class: "lab-select" });
  for (const gpu of model.get("gpus")) select.append(html("option", { value: gpu.id }, gpu.name));
  select.addEventListener("change", () => put(model, "gpu", select.value));
  const field = html("label", { class: "lab-field" }, html("span", {}, "GPU"), select);
  field.hidden = model.get("gpus").length < 2;
  return {
    field,
    show: () => {
      select.value = model.get("gpu");
    },
  };
}
