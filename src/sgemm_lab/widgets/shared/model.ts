// Between a widget's state and its pictures: redrawing at the right moment, and the room there is.

import { html } from "./dom.ts";

/** widths, as long as changes of them are heard of */
const widths: WeakMap<HTMLElement, number> = new WeakMap();

/** Call `update` once however many changes come before the browser draws again. */
export function redrawer(update: () => void) {
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

/** Call `react` on a change of any of `names` in the model. Returns a function that stops it. */
export function listen<S>(
  model: Model<S>,
  names: readonly (keyof S & string)[],
  react: () => void,
) {
  for (const name of names) model.on(`change:${name}`, react);
  return () => {
    for (const name of names) model.off(`change:${name}`, react);
  };
}

/** Call `react` when the width of `root` changes. Returns a function that stops it. */
export function onResize(root: HTMLElement, react: () => void) {
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

/** Draw now, and again when the state or the width changes. Returns a function that stops it. */
export function keepDrawn<S>(
  model: Model<S>,
  names: readonly (keyof S & string)[],
  root: HTMLElement,
  update: () => void,
  redraw: () => void,
  ...more: (() => void)[]
) {
  update();
  const stops = [listen(model, names, redraw), onResize(root, redraw), ...more];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * The width that a picture in `root` has, in px; a guess where the page has not placed it yet.
 * To ask the page anew while something moves would lay it out once more.
 */
export function availableWidth(root: HTMLElement) {
  const width = widths.get(root) ?? root.clientWidth;
  return width ? width - 28 : 660; // less the padding of .sgemm-lab
}

/** Set one key of the model and tell Python, where there is one. */
export function put<S, K extends keyof S & string>(model: Model<S>, name: K, value: S[K]) {
  model.set(name, value);
  model.save_changes();
}

/** What sets one key of the model, as `put` does, and then calls `redraw`. */
export function changer<S>(
  model: Model<S>,
  redraw: () => void,
): <K extends keyof S & string>(name: K, value: S[K]) => void {
  return (name, value) => {
    put(model, name, value);
    redraw();
  };
}

/** The GPU chosen, or the first where there is none of that name. */
export function chosenGpu<G extends { id: string }>(model: Model<{ gpus: G[]; gpu: string }>): G {
  const gpus = model.get("gpus");
  return gpus.find((gpu) => gpu.id === model.get("gpu")) ?? gpus[0];
}

/** A choice among GPUs, or nothing where there is only one. */
export function gpuChooser(model: Model<{ gpus: { id: string; name: string }[]; gpu: string }>) {
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
