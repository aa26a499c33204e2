// @ts-check
// All steps of a walk in one row: a bar each, barriers as walls, phases pressed together.

import { setAttributes } from "./shared/dom.js";
import { textWidth } from "./shared/labels.js";
import { faultIn } from "./walk_faults.js";
import { phaseWords } from "./walk_phases.js";

/**
 * @typedef {import("./shared/scene.js").Scene} Scene
 * @typedef {import("./walk.js").Tour} Tour
 * @typedef {import("./walk.js").Step} Step
 *
 * Where the bar of a step begins, and how wide it is.
 * @typedef {{ x: number, wide: number }} Bar
 */

const [BARS, WORDS] = [26, 15]; // px, of the bars and of the names of phases below
const LETTERS = 11; // px

/**
 * Long phases are pressed together, so that short ones can be seen: a phase of n steps is as wide as
 * the root of n.
 * @param {Tour} tour
 * @param {number} width
 * @returns {Bar[]}
 */
export function barsOf({ phases }, width) {
  const weights = phases.map(({ first, last }) => Math.sqrt(last - first));
  const unit = width / weights.reduce((sum, weight) => sum + weight, 0);
  let x = 0;
  return phases.flatMap(({ first, last }, i) => {
    const wide = (weights[i] * unit) / (last - first);
    const start = x;
    x += weights[i] * unit;
    return Array.from({ length: last - first }, (_, at) => ({ x: start + at * wide, wide }));
  });
}

/**
 * The step whose bar is at `x`, in px.
 * @param {Bar[]} bars
 * @param {number} x
 */
export const stepUnder = (bars, x) => bars.findLastIndex((bar) => bar.x <= x) + 1;

/** @type {{ global: string, shared: string, register: string }} */
const HUES = { global: "dram", shared: "shared", register: "register" };

/**
 * The name of a phase, or nothing where it has no room, and its middle.
 * @typedef {{ words: string | undefined, x: number }} Label
 */

/** @type {WeakMap<Tour, { width: number, bars: Bar[], looks: string[], labels: Label[] }>} */
const known = new WeakMap();

/**
 * What does not change from step to step.
 * @param {Tour} tour
 * @param {number} width
 */
function fixed(tour, width) {
  const old = known.get(tour);
  if (old?.width === width) return old;
  const looks = tour.steps.map((step) => {
    const trouble = { none: "", unsafe: " lab-racing", wrong: " lab-racing lab-wrong" }[
      faultIn(step)
    ];
    return `lab-bar-step lab-${HUES[step.array.space]}${trouble}${step.fault ? " lab-fault" : ""}`;
  });
  const bars = barsOf(tour, width);
  const made = { width, bars, looks, labels: labelsOf(tour, bars) };
  known.set(tour, made);
  return made;
}

/**
 * @param {Scene} scene
 * @param {SVGSVGElement} ribbon
 * @param {Tour} tour
 * @param {number} step
 * @param {number} width
 */
export function drawRibbon(scene, ribbon, tour, step, width) {
  const height = BARS + WORDS;
  setAttributes(ribbon, { viewBox: `0 0 ${width} ${height}`, height });
  const { bars, looks, labels } = fixed(tour, width);
  tour.steps.forEach(({ store, fault }, i) => {
    const state = i === step - 1 ? " lab-here" : i < step - 1 ? " lab-past" : "";
    const [y, tall] = fault ? [0, BARS] : store ? [4, 18] : [10, 12];
    const { x, wide } = bars[i];
    scene.draw(`step${i}`, "rect", {
      class: looks[i] + state,
      x: x + Math.min(0.5, wide / 8),
      y,
      width: Math.max(0.5, wide - Math.min(1, wide / 4)),
      height: tall,
    });
  });
  for (const { first } of tour.stages.slice(1)) {
    const d = `M${bars[first - 1].x} 0V${BARS}`;
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d });
  }
  drawPhases(scene, tour, labels, step);
  scene.finish();
}

/**
 * @param {Tour} tour
 * @param {Bar[]} bars
 * @returns {Label[]}
 */
function labelsOf({ phases }, bars) {
  return phases.map((phase) => {
    const { first, last, deed } = phase;
    const [from, end] = [bars[first].x, bars[last - 1]];
    const to = end.x + end.wide;
    const words = [phaseWords(phase), deed === "copy" ? deed : `${last - first}`].find(
      (one) => textWidth(one, LETTERS) <= to - from - 3,
    );
    return { words, x: (from + to) / 2 };
  });
}

/**
 * The names of phases, each below its bars.
 * @param {Scene} scene
 * @param {Tour} tour
 * @param {Label[]} labels
 * @param {number} step
 */
function drawPhases(scene, { phases }, labels, step) {
  phases.forEach(({ first, last }, i) => {
    const { words, x } = labels[i];
    if (!words) return;
    const here = step > first && step <= last ? " lab-here" : "";
    const look = { class: `lab-phase-name${here}`, "text-anchor": "middle" };
    scene.draw(`phase${i}`, "text", { ...look, x, y: BARS + 11 }, words);
  });
}
