// What a trace's steps mean: which element a value is a copy of, who reads what nobody has written
// yet, what a thread holds.

import type { ReorderedStep, WithoutBarrier } from "../counting/barrier_removal.ts";
import type { StepTrace, TracedStep } from "../counting/step_trace.ts";
import { WARP } from "../hardware.py";
import { placeName as nameOf } from "../text.ts";
import type { Entry, Matrix, Origin, Origins, Register, Step } from "./steps_model.ts";
import { faultIn, markRaces, phasesOf, stagesOf } from "./steps_model.ts";

/** The sum of an element of C, with its products so far. */
interface Sum {
  count: number;
  value: number | null;
  before: number | null;
  wrong: boolean;
}

/**
 * What a thread has in registers: by row of A and by column of B the operand read last, and of each
 * matrix what is between global and shared memory.
 */
interface Held {
  operands: Record<Matrix, Map<number, Register>>;
  flying: Record<Matrix, (Register | null)[]>;
}

export type Who = "thread" | "warp" | "block";

/** What registers follow from: the steps, and where the values and the operands come from. */
interface Traced {
  steps: Step[];
  origin: Origins;
  operandSpace: Record<Matrix, "shared" | "global">;
}

export type Walkthrough = ReturnType<typeof understand>;

export type Seen = ReturnType<typeof stateAt>;

/** "(1, 0)" or, where there is but one row, "1": a thread in its block, or a block in its grid. */
export function placeName(number: number, [across, down]: [across: number, down: number]) {
  return nameOf([number % across, Math.floor(number / across)], [across, down]);
}

export const cellKey = (array: string, row: number, column: number): string =>
  `${array}:${row}:${column}`;

/**
 * One block's steps with all that does not depend on the step shown; `line` is that of the barrier
 * left out, 0 for none.
 */
export function understand(trace: StepTrace, block: number, line: number) {
  const [m, n, k] = trace.size;
  const origin = originsOf(trace);
  const all = trace.blocks[block].map((step, i) => unfold(trace, step, i));
  const left = trace.left_out.find((one) => one.line === line);
  // The launch ends where it fails. What would have followed still tells which thread computes what.
  const fails = all.findIndex(({ fault }) => fault);
  const whole = fails < 0 ? all : all.slice(0, fails + 1);
  const steps = left ? left.blocks[block].map((part) => partOf(all, part)) : whole;
  markRaces(steps);
  const operandSpace = {
    A: operandSpaceOf(all, origin, "A"),
    B: operandSpaceOf(all, origin, "B"),
  };
  const walkthrough = {
    trace,
    block,
    line,
    left,
    m,
    n,
    k,
    origin,
    steps,
    operandSpace,
    ...ownersOf(all),
  };
  return {
    ...walkthrough,
    ...flightsOf(walkthrough),
    unsafe: trace.problems.length > 0 || steps.some((step) => faultIn(step) !== "none"),
    phases: phasesOf(steps, togetherIn(left)),
    stages: stagesOf(steps),
  };
}

/** How many threads go on alone to their next barrier. */
function togetherIn(left: WithoutBarrier | undefined) {
  if (!left) return Number.POSITIVE_INFINITY;
  return left.order === "warps" ? WARP : 1;
}

function originsOf({ size: [, n, k], a, b }: StepTrace) {
  const origin: Map<number | null | undefined, Origin> = new Map();
  a.forEach((value, index) => {
    origin.set(value, { matrix: "A", row: Math.floor(index / k), column: index % k });
  });
  b.forEach((value, index) => {
    origin.set(value, { matrix: "B", row: Math.floor(index / n), column: index % n });
  });
  return origin;
}

function unfold(
  trace: StepTrace,
  { line, epoch, store, fault, ...step }: TracedStep,
  of: number,
): Step {
  const array = trace.arrays[step.array];
  const place = array.space === "register" ? "C" : array.name;
  const entries = step.threads.map((thread, i) => {
    const [row, column, value] = [step.rows[i], step.columns[i], step.values[i]];
    const entry = { thread, row, column, value, meant: value, key: cellKey(place, row, column) };
    if (array.space !== "register") return entry;
    const [a, b] = [step.a[i], step.b[i]];
    return { ...entry, factors: { A: { value: a, meant: a }, B: { value: b, meant: b } } };
  });
  return { line, epoch, store, fault, of, array, entries };
}

/** A part of a step as it is without a barrier. */
function partOf(all: Step[], { of, epoch, first, count, wrong }: ReorderedStep): Step {
  const entries = all[of].entries.slice(first, first + count).map((entry) => ({ ...entry }));
  for (const [i, value, a, b] of wrong) {
    const entry = entries[Number(i)];
    entry.value = value;
    if (!entry.factors) continue;
    const { A, B } = entry.factors;
    entry.factors = { A: { ...A, value: a }, B: { ...B, value: b } };
  }
  return { ...all[of], epoch, entries };
}

/** Products are made of what comes out of shared memory, where the kernel uses it. */
function operandSpaceOf(
  steps: Step[],
  origin: Map<number | null | undefined, Origin>,
  matrix: Matrix,
): "shared" | "global" {
  const reads = steps.filter(({ array, store }) => array.space === "shared" && !store);
  const used = reads.some(({ entries }) =>
    entries.some(({ meant }) => origin.get(meant)?.matrix === matrix),
  );
  return used ? "shared" : "global";
}

/**
 * Which thread computes an element of C, which rows and columns of it a thread has, and the most
 * that one has.
 */
function ownersOf(steps: Step[]) {
  const owner: Map<string, number> = new Map();
  /** by thread */
  const shares: Map<number, { rows: number[]; columns: number[] }> = new Map();
  for (const { entries } of steps.filter(({ store, array }) => store && array.name === "C")) {
    for (const { thread, row, column, key } of entries) {
      owner.set(key, thread);
      const mine = shares.get(thread) ?? { rows: [], columns: [] };
      if (!mine.rows.includes(row)) mine.rows.push(row);
      if (!mine.columns.includes(column)) mine.columns.push(column);
      shares.set(thread, mine);
    }
  }
  for (const { rows, columns } of shares.values()) {
    for (const side of [rows, columns]) side.sort((a, b) => a - b);
  }
  const sides = [...shares.values()].map(({ rows, columns }) => [rows.length, columns.length]);
  return { owner, shares, most: Math.max(1, ...sides.flat()) };
}

/**
 * `rooms`: the most elements of each matrix that a thread has under way at once. `flights`: first
 * and last of the steps between which copies are under way, where products are made meanwhile.
 */
function flightsOf(walkthrough: Traced) {
  const rooms = { A: 0, B: 0 };
  const held: Map<number, Held> = new Map();
  const flights: { first: number; last: number }[] = [];
  let [first, overlaps] = [-1, false];
  walkthrough.steps.forEach((step, i) => {
    const filled = new Set<string>();
    for (const entry of step.entries) {
      hold(walkthrough, held, step, entry, filled);
      const { flying } = held.get(entry.thread) as Held;
      rooms.A = Math.max(rooms.A, flying.A.length);
      rooms.B = Math.max(rooms.B, flying.B.length);
    }
    const busy = [...held.values()].some(({ flying: { A, B } }) => [...A, ...B].some(Boolean));
    if (busy && first < 0) [first, overlaps] = [i, false];
    overlaps ||= step.array.space === "register";
    if (busy || first < 0) return;
    if (overlaps) flights.push({ first, last: i });
    first = -1;
  });
  return { rooms, flights };
}

/** Memory, and what the threads hold, after `step` steps; and what the last of them did. */
export function stateAt(walkthrough: Walkthrough, step: number, thread: number, who: Who) {
  const chosen = ({ thread: other }: Entry) => {
    if (who === "warp") return Math.floor(other / WARP) === Math.floor(thread / WARP);
    return who === "block" || other === thread;
  };
  const now: Step | undefined = walkthrough.steps[step - 1];
  const entries = now?.entries ?? [];
  const acting = entries.filter(chosen);
  const does = now?.fault ? "fault" : now?.store ? "write" : "read";
  /** cell → what is done to it */
  const lit: Map<string, "fault" | "write" | "read" | "other"> = new Map();
  for (const { key } of entries) lit.set(key, "other"); // by threads that are not chosen
  for (const { key } of acting) lit.set(key, does);
  const racing = acting.filter((entry) => entry.racing !== undefined || entry.unwritten);
  return { step, now, thread, who, lit, racing, acting, ...memoryAt(walkthrough, step) };
}

function memoryAt(walkthrough: Walkthrough, step: number) {
  /** cell → what stands there */
  const shared: Map<string, Register> = new Map();
  /** elements of C */
  const stored: Set<string> = new Set();
  /** by thread */
  const held: Map<number, Held> = new Map();
  /** by element of C */
  const sums: Map<string, Sum> = new Map();
  for (let i = 0; i < step; i++) {
    const now = walkthrough.steps[i];
    const { array, store, entries, fault } = now;
    if (fault) break;
    const filled = new Set<string>();
    // What the last step stores is still in its registers.
    const leaves = i === step - 1 && store && array.space === "shared";
    for (const entry of entries) {
      if (!leaves) hold(walkthrough, held, now, entry, filled);
      if (array.space === "register") sums.set(entry.key, added(sums.get(entry.key), entry));
      else if (store && array.space === "shared") shared.set(entry.key, entry);
      else if (store) stored.add(entry.key);
    }
  }
  return { shared, stored, held, sums };
}

function added(sum: Sum | undefined, { value, meant }: Entry): Sum {
  const before = sum ? sum.value : 0;
  return { count: (sum?.count ?? 0) + 1, value, before, wrong: value !== meant };
}

/**
 * Keep in mind what one entry of a step does to its thread's registers. `filled` are those that
 * the step has filled so far.
 */
function hold(
  { origin, operandSpace }: Pick<Traced, "origin" | "operandSpace">,
  held: Map<number, Held>,
  { array, store }: Step,
  entry: Entry,
  filled: Set<string>,
) {
  const { thread, meant, factors } = entry;
  let mine = held.get(thread);
  if (!mine) {
    mine = { operands: { A: new Map(), B: new Map() }, flying: { A: [], B: [] } };
    held.set(thread, mine);
  }
  if (factors) {
    mine.operands.A.set(entry.row, factors.A);
    mine.operands.B.set(entry.column, factors.B);
    return;
  }
  const from = origin.get(meant);
  if (!from || array.name === "C") return;
  const { matrix } = from;
  const flying = mine.flying[matrix];
  if (store) {
    const at = flying.findIndex((one) => one?.meant === meant);
    if (at >= 0) flying[at] = null;
  } else if (operandSpace[matrix] === array.space) {
    // Of a float4 along k the first is shown; the others have their turn as factors.
    const side = matrix === "A" ? from.row : from.column;
    const place = `${thread} ${matrix} ${side}`;
    if (!filled.has(place)) mine.operands[matrix].set(side, entry);
    filled.add(place);
  } else {
    if (flying.every((one) => one === null)) flying.length = 0;
    flying.push(entry);
  }
}
