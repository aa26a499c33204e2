// What the roofline shows of one GPU: one level of memory with its points.

import { referenceLevels } from "../formulas/roofs.ts";
import type { Limits } from "./shared/axes.ts";
import { chosenGpu } from "./shared/controls.ts";

/** A kernel's place at one level, as in data.py. */
export interface Point {
  kernel: string;
  gpu: string;
  level: LevelId;
  intensity: number;
  gflops: number;
  kind: "predicted" | "measured";
  note: string;
  /** the unit that bounds the kernel, or "" */
  bound_by: string;
  bound_gflops: number;
  /** which level's outline it has */
  mark: LevelId;
}

export interface State {
  gpus: RoofedGpu[];
  gpu: string;
  points: Point[];
  /** id of the level shown; of a GPU without it the first is shown */
  level: string;
  /** name of the point with focus, or "" */
  selected: string;
}

export type Content = ReturnType<typeof contentOf>;

/** A kernel's point of one kind has the same name at each level and on each GPU. */
export const nameOf = ({ kernel, kind }: Point) => `${kernel}, ${kind}`;

export function contentOf(model: Model<State>) {
  const gpu = chosenGpu(model);
  const here = model.get("points").filter((point) => point.gpu === gpu.id);
  const levels = referenceLevels(gpu);
  const level = levels.find(({ id }) => id === model.get("level")) ?? levels[0];
  const visible = here.filter((point) => point.level === level.id);
  const oneKind = new Set(visible.map(({ kind }) => kind)).size === 1;
  // Arrows lead from kernel to kernel, unless they lead from what was predicted to what came out.
  const steps = oneKind && visible.length > 1 ? visible : [];
  return { gpu, here, visible, levels, level, steps, limits: limitsOf(gpu, here) };
}

/**
 * Axis limits around all points of a GPU and its roofs' ridges: the same for each of its levels, so
 * that one sees the points move.
 */
function limitsOf(gpu: RoofedGpu, points: Point[]): Limits {
  const ridges = gpu.levels.map(({ gbs }) => gpu.peak_gflops / gbs);
  const xs = points.map(({ intensity }) => intensity);
  const room = 8 * Math.max(...ridges); // beyond the last ridge, for the name of the peak
  const ys = [...points, ...gpu.peaks].map(({ gflops }) => gflops);
  return {
    x: [Math.min(...xs, ...ridges) / 2.5, Math.max(...xs.map((x) => 3 * x), room)],
    y: [Math.min(...ys) / 3, Math.max(...ys) * 1.8],
  };
}
