// Controls: sliders, choices, keys, and verdicts that keep their room.

import "./controls.css";
import { html, setAttributes } from "./dom.ts";
import { put } from "./model.ts";

/** A slider over numbers; `react` gets the one chosen. */
export function choiceSlider(label: string, react: (choice: number) => void) {
  const input = html("input", { type: "range", min: 0, step: 1, class: "lab-range" });
  const value = html("span", { class: "lab-value" });
  let choices: number[] = [];
  input.addEventListener("input", () => react(choices[Number(input.value)]));
  return {
    element: html(
      "label",
      { class: "lab-slider" },
      html("span", { class: "lab-slider-name" }, label),
      value,
      input,
    ),
    show(now: number, among: number[], words: string) {
      choices = among.includes(now) ? among : [...among, now].sort((a, b) => a - b);
      setAttributes(input, { max: choices.length - 1, "aria-valuetext": words });
      const index = choices.indexOf(now);
      input.value = String(index);
      input.style.setProperty("--at", `${(100 * index) / Math.max(1, choices.length - 1)}%`);
      value.textContent = words;
    },
  };
}

/** A choice of few, as radio buttons side by side. `choices` maps value to label. */
export function segments<V extends string>(
  legend: string,
  choices: Record<V, string>,
  react: (value: V) => void,
) {
  const name = `lab-${Math.random().toString(36).slice(2)}`; // radio groups share the page
  const values = Object.keys(choices) as V[];
  const options = values.map((value) => {
    const input = html("input", { type: "radio", name, value });
    input.addEventListener("change", () => react(value));
    const words = html("span", {}, choices[value]);
    return { input, label: html("label", { class: "lab-segment" }, input, words) };
  });
  return {
    element: html(
      "fieldset",
      { class: "lab-segments" },
      html("legend", {}, legend),
      options.map(({ label }) => label),
    ),
    show(now: string | number) {
      for (const { input } of options) input.checked = input.value === String(now);
    },
  };
}

/** A list to choose from, each entry [value, words]; `react` gets the value chosen. */
export function chooser(
  label: string,
  entries: [value: string | number, words: string][],
  react: (value: string) => void,
) {
  const options = entries.map(([value, words]) => html("option", { value }, words));
  const select = html("select", { class: "lab-select" }, options);
  select.addEventListener("change", () => react(select.value));
  return {
    select,
    field: html("label", { class: "lab-field" }, html("span", {}, label), select),
    show(now: string | number) {
      select.value = String(now);
    },
  };
}

/** The GPU chosen, or the first where there is none of that name. */
export function chosenGpu<G extends { id: string }>(model: Model<{ gpus: G[]; gpu: string }>): G {
  const gpus = model.get("gpus");
  return gpus.find((gpu) => gpu.id === model.get("gpu")) ?? gpus[0];
}

/** A choice among GPUs, or nothing where there is only one. */
export function gpuChooser(model: Model<{ gpus: { id: string; name: string }[]; gpu: string }>) {
  const names = model.get("gpus").map(({ id, name }): [string, string] => [id, name]);
  const { field, show } = chooser("GPU", names, (id) => put(model, "gpu", id));
  field.hidden = names.length < 2;
  return { field, show: () => show(model.get("gpu")) };
}

/** Controls side by side. */
export function controls(some: { element: HTMLElement }[]) {
  return html(
    "div",
    { class: "lab-controls" },
    some.map(({ element }) => element),
  );
}

/** Explains the looks of a picture: [class of the swatch, words] each. */
export function key(entries: [name: string, words: string][]) {
  const samples = entries.map(([name, words]) =>
    html("span", {}, html("span", { class: `lab-swatch-box ${name}` }), words),
  );
  return html("div", { class: "lab-key" }, samples);
}

/** Facts as [name, value]; where a `share` is given, the last has a bar that shows it. */
export function showFacts(
  list: HTMLElement,
  facts: [name: string, value: string | number][],
  share?: number,
) {
  const words = [...facts, share].join();
  if (list.dataset.shown === words) return;
  list.dataset.shown = words;
  const bar = html("span", { class: "lab-bar-fill" });
  if (share !== undefined) bar.style.width = `${100 * share}%`;
  const track = html("span", { class: "lab-bar-track", "aria-hidden": "true" }, bar);
  list.replaceChildren(
    ...facts.map(([name, value], i) => {
      const last = share !== undefined && i === facts.length - 1;
      return html("div", {}, html("dt", {}, name), html("dd", {}, `${value}`, last && track));
    }),
  );
}

/**
 * A verdict that keeps room for the longest of its texts, so that nothing below it ever moves.
 * `reserve` takes what the room depends on, and a function that returns the texts, each a list of
 * nodes; it measures them once for each cause. `show` takes the text to show.
 */
export function steadyVerdict() {
  const element = html("div", { class: "lab-verdict", role: "status" });
  const measure = html("div", { class: "lab-measure", "aria-hidden": "true" });
  /** the room that each cause asked for, in px */
  const known: Map<string, number> = new Map();
  return {
    element,
    measure,
    reserve(cause: string, texts: () => Child[][]) {
      let tallest = known.get(cause);
      if (tallest === undefined) {
        const samples = texts().map((text) => html("div", { class: "lab-verdict" }, text));
        measure.replaceChildren(...samples);
        tallest = Math.max(...samples.map((sample) => sample.offsetHeight));
        measure.replaceChildren();
        known.set(cause, tallest);
      }
      element.style.minHeight = `${tallest}px`;
    },
    show(text: (Node | string)[]) {
      element.replaceChildren(...text);
    },
  };
}
