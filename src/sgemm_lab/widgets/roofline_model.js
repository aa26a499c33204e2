// @ts-check
// What the roofline shows of one GPU: one level of memory with its points, or all levels at once.

import { referenceLevels } from "../formulas/roofs.js";
import { put } from "./shared/model.js";
import { chartLimits } from "./shared/roofs_chart.js";

/**
 * A kernel's place at one level, as data.py checks it, and its index in the state.
 * @typedef {object} Point
 * @property {string} kernel
 * @property {string} label
 * @property {string} gpu
 * @property {LevelId} level
 * @property {number} intensity
 * @property {number} gflops
 * @property {"predicted" | "measured"} kind
 * @property {string} note
 * @property {string} href
 * @property {string} bound_by the unit that bounds the kernel, or ""
 * @property {number} bound_gflops
 * @property {LevelId} mark which level's outline it has
 * @typedef {Point & { index: number }} PlacedPoint
 *
 * @typedef {object} State
 * @property {RoofedGpu[]} gpus
 * @property {string} gpu
 * @property {Point[]} points
 * @property {string[]} hidden_levels
 * @property {string[]} hidden_kernels
 * @property {string} level id of the level shown, or "" for all at once
 * @property {number} selected index of the point with focus, or -1
 *
 * @typedef {ReturnType<typeof contentOf>} Content
 */

/** @param {Model<State>} model */
export function contentOf(model) {
  const gpus = model.get("gpus");
  const gpu = gpus.find((entry) => entry.id === model.get("gpu")) ?? gpus[0];
  const hiddenLevels = model.get("hidden_levels");
  const hiddenKernels = model.get("hidden_kernels");
  const here = pointsOf(model, gpu.id);
  const levels = referenceLevels(gpu);
  const chosen = model.get("level");
  const level = chosen ? (levels.find(({ id }) => id === chosen) ?? levels[0]) : undefined;
  const offered = levels.filter(({ id }) => (level ? id === level.id : !hiddenLevels.includes(id)));
  const shown = new Set(offered.map(({ id }) => id));
  const unhidden = here.filter(({ kernel }) => !hiddenKernels.includes(kernel));
  const visible = unhidden.filter((point) => shown.has(point.level));
  const oneKind = new Set(visible.map(({ kind }) => kind)).size === 1;
  // Arrows lead from kernel to kernel, unless they lead from what was predicted to what came out.
  const steps = level && oneKind && visible.length > 1 ? visible : [];
  const limits = level ? levelLimits(gpu, here) : chartLimits(gpus, model.get("points"));
  return { gpu, here, visible, levels, level, steps, offered, limits };
}

/**
 * The points of one GPU, each with its index.
 * @param {Model<State>} model
 * @param {string} gpu
 * @returns {PlacedPoint[]}
 */
function pointsOf(model, gpu) {
  const points = model.get("points").map((point, index) => ({ ...point, index }));
  return points.filter((point) => point.gpu === gpu);
}

/**
 * Axis limits around all points of a GPU and its roofs' ridges: the same for each of its levels, so
 * that one sees the points move.
 * @param {RoofedGpu} gpu
 * @param {PlacedPoint[]} points
 * @returns {import("./shared/roofs_chart.js").Limits}
 */
function levelLimits(gpu, points) {
  const ridges = gpu.levels.map(({ gbs }) => gpu.peak_gflops / gbs);
  const xs = points.map(({ intensity }) => intensity);
  const room = 8 * Math.max(...ridges); // beyond the last ridge, for the name of the peak
  const ys = [...points, ...gpu.peaks].map(({ gflops }) => gflops);
  return {
    x: [Math.min(...xs, ...ridges) / 2.5, Math.max(...xs.map((x) => 3 * x), room)],
    y: [Math.min(...ys) / 3, Math.max(...ys) * 1.8],
  };
}

/**
 * Select the point of the same kernel on the GPU just chosen: of the same level where it can be.
 * @param {Model<State>} model
 */
export function follow(model) {
  const was = model.get("points")[model.get("selected")];
  if (!was) return;
  const twins = pointsOf(model, model.get("gpu")).filter(({ kernel }) => kernel === was.kernel);
  const twin = twins.find(({ level, kind }) => level === was.level && kind === was.kind);
  put(model, "selected", (twin ?? twins[0])?.index ?? -1);
}
