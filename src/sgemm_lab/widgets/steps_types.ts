// What a trace's steps are to its picture and its words. Types alone: nothing of it runs.

import type { TracedArray } from "../counting/step_trace.ts";

/**
 * What one thread does to one element. `meant` is the value that it would have with all barriers,
 * `racing` a thread that writes it in the same window. Of a product, `key` is the element of C,
 * `value` the sum after it, and `a` and `b` are its factors.
 */
export interface Entry {
  thread: number;
  row: number;
  column: number;
  value: number | null;
  meant: number | null;
  /** of the cell */
  key: string;
  factors?: Factors;
  racing?: number;
  unwritten?: boolean;
}

export type Factors = Record<Matrix, Register>;

export interface Register {
  value: number | null;
  meant: number | null;
}

/** `of` is the number of the step with all barriers. */
interface StepHead {
  line: number;
  window: number;
  store: boolean;
  fault: string;
  of: number;
}

export type Step = StepHead & { array: TracedArray; entries: Entry[] };

export type Matrix = "A" | "B";

/** The element of A or B that holds a value. */
export interface Origin {
  matrix: Matrix;
  row: number;
  column: number;
}

/** Where values come from. */
export type Origins = Map<number | null | undefined, Origin>;

export type Action = "copy" | "read" | "multiply" | "store" | "fail";

/** Steps of one kind in a row; `first` is the step before them. */
export interface Phase {
  first: number;
  last: number;
  action: Action;
  turn: number;
  window: number;
}

/** The stretch between two barriers; `first` is the step before it. */
export interface Stage {
  first: number;
  last: number;
  does: Set<Action>;
  name: string;
}
