// What the roofline shows of one GPU: one level of memory with its points, or all levels at once.

import { referenceLevels } from "../formulas/roofs.ts";
import type { Limits } from "./shared/axes.ts";
import { put } from "./shared/model.ts";
import { chartLimits } from "./shared/roofs_chart.ts";

/** A kernel's place at one level, as data.py checks it, and its index in the state. */
export interface Point {
  kernel: string;
  label: string;
  gpu: string;
  level: LevelId;
  intensity: number;
  gflops: number;
  kind: "predicted" | "measured";
  note: string;
  href: string;
  /** the unit that bounds the kernel, or "" */
  bound_by: string;
  bound_gflops: number;
  /** which level's outline it has */
  mark: LevelId;
}

export type PlacedPoint = Point & { index: number };

export interface State {
  gpus: RoofedGpu[];
  gpu: string;
  points: Point[];
  /** id of the level shown, or "" for all at once */
  level: string;
  /** index of the point with focus, or -1 */
  selected: number;
}

export type Content = ReturnType<typeof contentOf>;

export function contentOf(model: Model<State>) {
  const gpus = model.get("gpus");
  const gpu = gpus.find((entry) => entry.id === model.get("gpu")) ?? gpus[0];
  const here = pointsOf(model, gpu.id);
  const levels = referenceLevels(gpu);
  const chosen = model.get("level");
  const level = chosen ? (levels.find(({ id }) => id === chosen) ?? levels[0]) : undefined;
  const offered = level ? [level] : levels;
  const shown = new Set(offered.map(({ id }) => id));
  const visible = here.filter((point) => shown.has(point.level));
  const oneKind = new Set(visible.map(({ kind }) => kind)).size === 1;
  // Arrows lead from kernel to kernel, unless they lead from what was predicted to what came out.
  const steps = level && oneKind && visible.length > 1 ? visible : [];
  const limits = level ? levelLimits(gpu, here) : chartLimits(gpus, model.get("points"));
  return { gpu, here, visible, levels, level, steps, offered, limits };
}

/** The points of one GPU, each with its index. */
function pointsOf(model: Model<State>, gpu: string): PlacedPoint[] {
  const points = model.get("points").map((point, index) => ({ ...point, index }));
  return points.filter((point) => point.gpu === gpu);
}

/**
 * Axis limits around all points of a GPU and its roofs' ridges: the same for each of its levels, so
 * that one sees the points move.
 */
function levelLimits(gpu: RoofedGpu, points: PlacedPoint[]): Limits {
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
 */
export function follow(model: Model<State>) {
  const was = model.get("points")[model.get("selected")];
  if (!was) return;
  const twins = pointsOf(model, model.get("gpu")).filter(({ kernel }) => kernel === was.kernel);
  const twin = twins.find(({ level, kind }) => level === was.level && kind === was.kind);
  put(model, "selected", (twin ?? twins[0])?.index ?? -1);
}
