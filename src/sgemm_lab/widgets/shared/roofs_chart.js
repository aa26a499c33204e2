// @ts-check
// The roofs of a GPU on log-log axes, shared by the widgets that show them.

import { levelRoof } from "../../formulas/roofs.js";
import { number } from "../../text.js";
import { spotsAround, textWidth } from "./labels.js";
import { HUES } from "./levels.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./labels.js").Labels} Labels
 * @typedef {import("./axes.js").Limits} Limits
 * @typedef {import("./axes.js").Axes} Axes
 * @typedef {{ x1: number, y1: number, x2: number, y2: number }} Line
 * @typedef {object} More
 * @property {RoofedGpu} gpu
 * @property {boolean} main whether it is the one to compare with
 * @property {boolean} measured
 * @property {number} amount GB/s, or GFLOP/s of a peak
 * @property {Roof} [level] none for a peak
 * @property {number} ridge FLOP/B; Infinity for a peak
 * @typedef {Line & More} DrawnRoof
 */

/** @type {import("./axes.js").Names} */
export const ROOF_AXES = { x: "arithmetic intensity, FLOP per byte", y: "GFLOP/s", tick: number };

/**
 * Axis limits that hold every roof of every GPU and all `points`: nothing moves but the roofs.
 * @param {RoofedGpu[]} gpus
 * @param {{ intensity: number, gflops: number }[]} points
 * @returns {Limits}
 */
export function chartLimits(gpus, points) {
  const slopes = gpus.flatMap((gpu) => gpu.levels.map((roof) => roof.gbs));
  const ridges = gpus.flatMap((gpu) => gpu.levels.map((roof) => gpu.peak_gflops / roof.gbs));
  const peaks = gpus.flatMap((gpu) => gpu.peaks.map((peak) => peak.gflops));
  const xs = points.map((point) => point.intensity);
  const left = Math.min(0.2, ...xs) / 2;
  const ys = [Math.min(...slopes) * left, ...points.map((point) => point.gflops)];
  return {
    x: [left, Math.max(4, ...ridges, ...xs) * 4],
    y: [Math.min(...ys) / 1.6, Math.max(...peaks, ...ys) * 2.2],
  };
}

/**
 * Draw the roofs of `gpu` without their labels and keep the room they take.
 * @param {Scene} scene
 * @param {Axes} axes
 * @param {RoofedGpu} gpu
 * @param {string[]} hidden ids of levels
 * @param {Labels} labels
 * @returns {DrawnRoof[]} what labelRoofs() needs
 */
export function drawRoofs(scene, axes, gpu, hidden, labels) {
  const slanted = slantedRoofs(axes, gpu, hidden);
  const roofs = [...slanted, ...flatRoofs(axes, gpu, slanted)];
  for (const roof of [...roofs].sort((a, b) => Number(a.main) - Number(b.main))) {
    const { level, measured } = roof;
    const name = `${level ? level.id : "peak"}-${measured}`;
    const hue = level ? HUES[level.id] : "peak";
    scene.draw(`roof-${name}`, "path", {
      class: `lab-roof lab-${hue}`,
      "data-level": level?.id ?? "peak",
      "data-measured": measured,
      d: `M${roof.x1} ${roof.y1}L${roof.x2} ${roof.y2}`,
    });
    labels.blockLine(roof.x1, roof.y1, roof.x2, roof.y2);
    if (roof.main && level && roof.ridge < axes.x.high) {
      const at = { cx: roof.x2, cy: roof.y2, r: 4 };
      scene.draw(`ridge-${name}`, "circle", { class: `lab-ridge lab-${hue}`, ...at });
      labels.block(roof.x2, roof.y2, 5);
    }
  }
  return roofs;
}

/**
 * The roofs of memory: from the left edge, or the floor, up to the peak.
 * @param {Axes} axes
 * @param {RoofedGpu} gpu
 * @param {string[]} hidden
 * @returns {DrawnRoof[]}
 */
function slantedRoofs({ x, y }, gpu, hidden) {
  return gpu.levels
    .filter(({ id }) => !hidden.includes(id))
    .map((level) => {
      const { gbs, measured } = level;
      const main = levelRoof(gpu, level.id) === level;
      const kin = gpu.peaks.find((one) => one.measured === measured) ?? gpu.peaks[0];
      const peak = main ? gpu.peak_gflops : kin.gflops;
      const start = Math.max(x.low, y.low / gbs);
      const ridge = peak / gbs;
      const line = { x1: x(start), y1: y(start * gbs), x2: x(ridge), y2: y(peak) };
      return { ...line, gpu, main, measured, amount: gbs, level, ridge };
    });
}

/**
 * The roofs of the arithmetic, from the steepest roof of memory on.
 * @param {Axes} axes
 * @param {RoofedGpu} gpu
 * @param {DrawnRoof[]} slanted
 * @returns {DrawnRoof[]}
 */
function flatRoofs({ x, y }, gpu, slanted) {
  const steepest = Math.max(...slanted.filter(({ main }) => main).map(({ amount }) => amount));
  return gpu.peaks.map(({ gflops, measured }, i) => {
    const x1 = x(Math.max(x.low, gflops / steepest)); // from the left where no level is shown
    const line = { x1, y1: y(gflops), x2: x(x.high), y2: y(gflops) };
    return { ...line, gpu, main: i === 0, measured, amount: gflops, ridge: Infinity };
  });
}

/**
 * Write each roof's name along it, and the ridge's intensity beside the ridge, where room is left.
 * @param {Scene} scene
 * @param {Axes} axes
 * @param {DrawnRoof[]} roofs
 * @param {Labels} labels
 */
export function labelRoofs(scene, axes, roofs, labels) {
  /** @type {(key: string, hue: string, size: number, text: string, spots: Spot[]) => boolean} */
  const write = (key, hue, size, text, spots) => {
    const spot = labels.place(text, size, spots);
    if (!spot) return false;
    const turn = spot.angle ? `rotate(${(spot.angle * 180) / Math.PI})` : "";
    const look = { class: `lab-label lab-${hue}`, "text-anchor": spot.anchor, "font-size": size };
    const transform = `translate(${spot.x} ${spot.y})${turn}`;
    scene.draw(key, "text", { ...look, transform }, text);
    return true;
  };
  for (const roof of roofs) {
    const { level, main } = roof;
    const hue = level ? HUES[level.id] : "peak";
    const above = twinsOf(roof).every((amount) => amount <= roof.amount);
    // A roof with a twin close by is named on its own side.
    const sides = level && twinsOf(roof).length > 1 ? [above] : [above, !above];
    const size = main ? 12.5 : 11.5;
    const key = `label-${level?.id ?? "peak"}-${roof.measured}`;
    const names = namesOf(roof);
    const middle = spotsAround((roof.x1 + roof.x2) / 2, (roof.y1 + roof.y2) / 2);
    names.some((text) =>
      write(
        key,
        hue,
        size,
        text,
        sides.flatMap((side) => along(roof, text, size, side)),
      ),
    ) || write(key, hue, size, names[names.length - 1], middle);
  }
  for (const { level, main, ridge, x2, y2 } of roofs) {
    if (!level || !main || ridge > axes.x.high) continue;
    write(`ridge-label-${level.id}`, HUES[level.id], 11.5, `ridge ${number(ridge)}`, [
      { x: x2, y: y2 - 10, anchor: "middle" },
      { x: x2 + 8, y: y2 + 18, anchor: "start" },
      { x: x2, y: y2 - 26, anchor: "middle" },
    ]);
  }
}

/**
 * What a roof may be called, the longest first.
 * @param {DrawnRoof} roof
 */
function namesOf({ level, main, measured, amount }) {
  if (!main) return [`${measured ? "measured" : "data sheet"} ${number(amount)}`];
  if (level) return [`${level.label} ${number(amount)} GB/s`, level.label];
  const name = `FP32 peak ${number(amount)}`;
  return [`${name}, operands in registers`, name, "FP32 peak"];
}

/**
 * The amounts of the roofs of the same level, or of all peaks.
 * @param {DrawnRoof} roof
 */
function twinsOf({ gpu, level }) {
  if (!level) return gpu.peaks.map(({ gflops }) => gflops);
  return gpu.levels.filter(({ id }) => id === level.id).map(({ gbs }) => gbs);
}

/**
 * Places for a label along a roof: slanted roofs from the left, flat ones from the right. Of two
 * roofs of one level the higher is named `above` its line and the lower below.
 * @param {Line} line
 * @param {string} text
 * @param {number} size
 * @param {boolean} above
 * @returns {Spot[]}
 */
function along({ x1, y1, x2, y2 }, text, size, above) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const half = textWidth(text, size) / 2 + 6;
  const off = above ? 6 : -6 - size * 0.72;
  /** @type {Spot[]} */
  const spots = [];
  for (let step = half; step <= length - half; step += 6) {
    const at = angle ? step : length - step;
    spots.push({
      x: x1 + at * Math.cos(angle) + off * Math.sin(angle),
      y: y1 + at * Math.sin(angle) - off * Math.cos(angle),
      anchor: "middle",
      angle,
    });
  }
  return spots;
}
