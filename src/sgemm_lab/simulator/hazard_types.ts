// A hazard: something wrong at one source line; and one that counts only if it does harm.

import type { Location } from "./source_locations.ts";

export type Dim3 = [number, number, number];

/** Kinds of warning about a number: infinity from finite halves, floats that are compared as integers. */
export const [OVERFLOW, FLOAT_ORDER] = ["overflow", "float order"] as const;
export type OddKind = typeof OVERFLOW | typeof FLOAT_ORDER;

/**
 * Something wrong at one source line. `message`: the sentence for the reader. `block`, `thread`:
 * `blockIdx` and `threadIdx` where it was first found. `element`: index in the array, in elements;
 * a shared array counts as one-dimensional. `otherThread`, `otherLocation`: the other thread of a
 * race, and where it accessed the element. `acrossWarps`: the two threads are of different warps.
 */
export interface Hazard {
  kind: string;
  location: Location;
  message: string;
  block: Dim3;
  thread: Dim3;
  array: string | null;
  element: number[] | null;
  otherThread: Dim3 | null;
  otherLocation: Location | null;
  acrossWarps: boolean;
}

/** One source line may be many instructions: the same thing is said once. */
export function sameMessage(one: Hazard, other: Hazard) {
  return one.kind === other.kind && one.location === other.location && one.array === other.array;
}

/** A hazard if it does harm. */
export class Suspect {
  /** @param time its number among hazards and suspects */
  constructor(
    public hazard: Hazard,
    public time: number,
  ) {}

  /** Whether both have the same message. */
  same(other: Suspect) {
    return sameMessage(this.hazard, other.hazard);
  }
}
