// A kernel's launch in the simulator: kernel_counts.py in TypeScript.

import { LabError } from "../errors.ts";
import type { Kernel, LaunchShape, Size } from "../kernel.ts";
import type { TensorMap } from "../tensor_map.ts";
import {
  BASIC_BLOCKS_PER_PRODUCT,
  LARGEST_MATRICES,
  LARGEST_PRODUCT,
  MAX_BASIC_BLOCKS,
} from "./launch_limits.py";
import { sentence } from "./sentences.ts";
import { sharedParts } from "./shared_arrays.ts";

/**
 * A matrix of floats, row after row. `values` are float32 in what a kernel reads and writes,
 * float64 in what is expected of it.
 */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array | Float64Array;
}

type Argument =
  | { data: Float32Array | Float64Array | Uint32Array; shape: number[] }
  | number
  | TensorMap;

/** The seventh argument, of the kernels that have it. */
export const WORKSPACE = "workspace";
const WORD = 4;

/** Refuse a size that the simulator cannot do in minutes and in 1 GB: throw a LabError. */
export function checkSize([m, n, k]: Size) {
  if (m * n * k > LARGEST_PRODUCT) throw new LabError(sentence("size.product", { m, n, k }));
  if (m * k + k * n + m * n > LARGEST_MATRICES) {
    throw new LabError(sentence("size.matrices", { m, n, k, most: LARGEST_MATRICES }));
  }
}

/** How long a kernel may run on a size before a loop of it is called endless, in basic blocks. */
export const maxBasicBlocks = ([m, n, k]: Size) =>
  MAX_BASIC_BLOCKS + BASIC_BLOCKS_PER_PRODUCT * m * n * k;

/** How a kernel is simulated at a size. */
export const launchOptions = (kernel: Kernel, shape: LaunchShape, size: Size) => ({
  sharedBytes: shape.sharedBytes,
  sharedParts: sharedParts(kernel),
  cooperative: shape.workspaceBytes > 0,
  unwritten: ["C"],
  maxBasicBlocks: maxBasicBlocks(size),
});

/**
 * The arguments of a launch on given matrices, by name and in order. C holds NaN.
 * @param workspace what an earlier launch left there, null for zeros
 */
export function launchArguments(
  shape: LaunchShape,
  a: Matrix,
  b: Matrix,
  workspace: Uint32Array | null,
) {
  const [m, n, k] = [a.rows, b.columns, a.columns];
  const c = new Float32Array(m * n).fill(Number.NaN);
  const own = workspace ?? new Uint32Array(Math.ceil(shape.workspaceBytes / WORD));
  const arrays: Map<string, Argument> = new Map();
  arrays.set("A", { data: a.values, shape: [m, k] });
  arrays.set("B", { data: b.values, shape: [k, n] });
  arrays.set("C", { data: c, shape: [m, n] });
  for (const [name, side] of Object.entries({ M: m, N: n, K: k })) arrays.set(name, side);
  if (shape.workspaceBytes) arrays.set(WORKSPACE, { data: own, shape: [own.length] });
  for (const map of shape.maps) arrays.set(map.name, map);
  return arrays;
}
