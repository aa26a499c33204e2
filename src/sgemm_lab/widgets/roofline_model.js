// @ts-check
// What the roofline shows: the points of one GPU, or a path from kernel to kernel at one level.

import { levelRoof, referenceLevels } from "../rules/roofs.js";
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
 * @typedef {Point & { index: number }} PlacedPoint
 *
 * @typedef {object} State
 * @property {RoofedGpu[]} gpus
 * @property {string} gpu
 * @property {Point[]} points
 * @property {string[]} hidden_levels
 * @property {string[]} hidden_kernels
 * @property {string} path id of a level, or "" for none
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
  const unhidden = here.filter(
    ({ level, kernel }) => !hiddenLevels.includes(level) && !hiddenKernels.includes(kernel),
  );
  const levels = referenceLevels(gpu);
  const paths = levels
    .map((level) => ({ ...level, points: pathAt(unhidden, level.id) }))
    .filter(({ points }) => points.length > 1);
  const path = paths.find(({ id }) => id === model.get("path"));
  const steps = path ? path.points : [];
  // The roofs that are shown, one per level: a path is at one level.
  const offered = levels.filter(({ id }) => (path ? id === path.id : !hiddenLevels.includes(id)));
  const visible = path ? steps : unhidden;
  const limits = path ? pathLimits(gpu, steps) : chartLimits(gpus, model.get("points"));
  return { gpu, here, visible, levels, paths, path, steps, offered, limits };
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
 * A path goes through one point per kernel at one level: measured where there are such.
 * @param {PlacedPoint[]} points
 * @param {LevelId} level
 */
function pathAt(points, level) {
  const there = points.filter((point) => point.level === level);
  const kind = there.some((point) => point.kind === "measured") ? "measured" : "predicted";
  return there.filter((point) => point.kind === kind);
}

/**
 * Axis limits around a path, with the peak and the ridge of its level in sight.
 * @param {RoofedGpu} gpu
 * @param {PlacedPoint[]} steps
 * @returns {import("./shared/roofs_chart.js").Limits}
 */
function pathLimits(gpu, steps) {
  const ridge = gpu.peak_gflops / (levelRoof(gpu, steps[0].level)?.gbs ?? 1);
  const xs = [...steps.map(({ intensity }) => intensity), ridge];
  const ys = [...steps, ...gpu.peaks].map(({ gflops }) => gflops);
  return {
    x: [Math.min(...xs) / 2.5, Math.max(...xs) * 2.5],
    y: [Math.min(...ys) / 3, Math.max(...ys) * 1.6],
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
