// @ts-check
// Controls: sliders, choices, keys, and verdicts that keep their room.

import { html, setAttributes } from "./dom.js";

/**
 * A slider over numbers; `react` gets the one chosen.
 * @param {string} label
 * @param {(choice: number) => void} react
 */
export function choiceSlider(label, react) {
  const input = html("input", { type: "range", min: 0, step: 1, class: "lab-range" });
  const value = html("span", { class: "lab-value" });
  /** @type {number[]} */
  let choices = [];
  input.addEventListener("input", () => react(choices[Number(input.value)]));
  return {
    element: html(
      "label",
      { class: "lab-slider" },
      html("span", { class: "lab-slider-name" }, label),
      value,
      input,
    ),
    /**
     * @param {number} now
     * @param {number[]} among
     * @param {string} words
     */
    show(now, among, words) {
      choices = among.includes(now) ? among : [...among, now].sort((a, b) => a - b);
      setAttributes(input, { max: choices.length - 1, "aria-valuetext": words });
      moveTo(input, choices.indexOf(now), choices.length);
      value.textContent = words;
    },
  };
}

/**
 * Put a slider at the choice of an index, with its track filled up to there.
 * @param {HTMLInputElement} input
 * @param {number} index
 * @param {number} count
 */
export function moveTo(input, index, count) {
  input.value = String(index);
  fillTo(input, Number(input.value) / Math.max(1, count - 1));
}

/**
 * Fill a slider's track up to a share of it.
 * @param {HTMLInputElement} input
 * @param {number} share
 */
export function fillTo(input, share) {
  input.style.setProperty("--at", `${100 * share}%`);
}

/**
 * A choice of few, as radio buttons side by side. `choices` maps value to label.
 * @template {string} V
 * @param {string} legend
 * @param {Record<V, string>} choices
 * @param {(value: V) => void} react
 */
export function segments(legend, choices, react) {
  const name = `lab-${Math.random().toString(36).slice(2)}`; // radio groups share the page
  const values = /** @type {V[]} */ (Object.keys(choices));
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
    /** @param {string | number} now */
    show(now) {
      for (const { input } of options) input.checked = input.value === String(now);
    },
  };
}

/**
 * Explains the looks of a picture: [class of the swatch, words] each.
 * @param {[name: string, words: string][]} entries
 */
export function key(entries) {
  const samples = entries.map(([name, words]) =>
    html("span", {}, html("span", { class: `lab-swatch-box ${name}` }), words),
  );
  return html("div", { class: "lab-key" }, samples);
}

/**
 * Facts as [name, value]; where a `share` is given, the last has a bar that shows it.
 * @param {HTMLElement} list
 * @param {[name: string, value: string | number][]} facts
 * @param {number} [share]
 */
export function showFacts(list, facts, share) {
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
  /** @type {Map<string, number>} the room that each cause asked for, in px */
  const known = new Map();
  return {
    element,
    measure,
    /**
     * @param {string} cause
     * @param {() => Child[][]} texts
     */
    reserve(cause, texts) {
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
    /** @param {(Node | string)[]} text */
    show(text) {
      element.replaceChildren(...text);
    },
  };
}
