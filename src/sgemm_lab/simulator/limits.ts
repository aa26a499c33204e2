// Launches that no GPU takes, or that would take hours here.
//
// Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities", technical
// specifications per compute capability; the same from 7.5 to 12.0 but for the shared memory of a
// block.

import { LabError } from "../errors.ts";
import { STATIC_SHARED } from "../hardware.py";
import type { Launch } from "./group.ts";
import {
  MAX_THREADS,
  MOST_BLOCKS_X,
  MOST_BLOCKS_YZ,
  MOST_LANES,
  MOST_THREADS_XY,
  MOST_THREADS_Z,
  MOST_TOGETHER,
  SHARED_LIMITS,
} from "./limits.py";
import { sentence } from "./sentences.ts";

/**
 * Refuse a launch that no GPU takes, or that would take hours: a LabError says what is too large.
 */
export function refuseImpossible(launch: Launch) {
  const { threads, blocks } = launch;
  if (threads > MAX_THREADS) {
    throw new LabError(sentence("limits.threads", { most: MAX_THREADS, threads }));
  }
  const most = {
    grid: [MOST_BLOCKS_X, MOST_BLOCKS_YZ, MOST_BLOCKS_YZ],
    block: [MOST_THREADS_XY, MOST_THREADS_XY, MOST_THREADS_Z],
  };
  for (const what of ["grid", "block"] as const) {
    launch[what].forEach((size, at) => {
      const limit = most[what][at];
      if (size > limit) {
        throw new LabError(sentence("limits.axis", { what, size, axis: "xyz"[at], limit }));
      }
    });
  }
  const [size] = launch.grid;
  if (size % launch.cluster) {
    throw new LabError(sentence("limits.cluster", { size, cluster: launch.cluster }));
  }
  const lanes = (launch.chosen?.length ?? blocks) * threads;
  if (lanes > MOST_LANES) {
    throw new LabError(sentence("limits.lanes", { blocks, threads }));
  }
  if (launch.cooperative && lanes > MOST_TOGETHER) {
    throw new LabError(sentence("limits.together", { threads: lanes, most: MOST_TOGETHER }));
  }
  refuseShared(launch);
}

function refuseShared({ kernel, sharedBytes }: Launch) {
  const fixed = kernel.shared.reduce((sum, { bytes }) => sum + bytes, 0);
  if (fixed > STATIC_SHARED) {
    throw new LabError(sentence("limits.static", { bytes: fixed, most: STATIC_SHARED }));
  }
  const wanted = fixed + sharedBytes;
  const limit = sharedLimit(kernel.target);
  if (wanted > limit) {
    const target = kernel.target && ` of ${kernel.target}`;
    throw new LabError(sentence("limits.shared", { wanted, target, limit }));
  }
}

/** Bytes of shared memory that a block can have: of the GPUs that the book knows, the most. */
function sharedLimit(target: string) {
  return SHARED_LIMITS[target] ?? Math.max(...Object.values(SHARED_LIMITS));
}
