// Between a widget's state and its pictures: redrawing at the right moment, and the room there is.

import { html } from "./dom.ts";

const NARROWEST = 270; // px, of a picture

/** widths, as long as changes of them are heard of */
const widths: WeakMap<HTMLElement, number> = new WeakMap();

/** The root of a widget, of these classes of its own, with its parts; placed in `el`. */
export function tool(el: HTMLElement, names: string, ...parts: (Child | Child[])[]) {
  const root = html("div", { class: `sgemm-lab lab-tool ${names}` }, ...parts);
  el.append(root);
  return root;
}

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

/**
 * Draw now, and again when the state or the width changes. Returns a function that stops it, and
 * calls `stop`.
 * @param redraw what a `redrawer` of `update` returned, where other things call for it too
 */
export function keepDrawn<S>(
  model: Model<S>,
  names: readonly (keyof S & string)[],
  root: HTMLElement,
  update: () => void,
  { redraw = redrawer(update), stop = () => {} } = {},
) {
  update();
  const stops = [listen(model, names, redraw), onResize(root, redraw), stop];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * The width of a picture in `root`, in px; a guess where the page has not placed it yet. To ask the
 * page anew while something moves would lay it out once more.
 */
export function availableWidth(root: HTMLElement) {
  const width = widths.get(root) ?? root.clientWidth;
  return Math.max(NARROWEST, width ? width - 28 : 660); // less the padding of .sgemm-lab
}

/** Set one key of the model and tell Python, where there is one. */
export function put<S, K extends keyof S & string>(model: Model<S>, name: K, value: S[K]) {
  model.set(name, value);
  model.save_changes();
}
