// A trace's steps in words.

import type { TracedArray } from "../counting/step_trace.ts";
import { comma, plural } from "../text.ts";
import { causeOf, type Entry, hasWrongFactor, isWrong, type Step } from "./steps_model.ts";
import { placeName, type Seen, type Walkthrough } from "./steps_trace.ts";

/** "A[1,3]" for the value of a cell; "0" for padding; "" for nothing. */
export function valueName(walkthrough: Walkthrough, value: number | null | undefined) {
  const from = walkthrough.origin.get(value);
  if (from) return `${from.matrix}[${from.row},${from.column}]`;
  if (value === undefined) return "";
  return value === null ? "?" : `${value}`;
}

/** A register as the source calls it, with a thread's own indices: "acc[0][2]", "fragA[0]". */
export const registerName = (name: string, i: number, j: number) =>
  name.replace("[i]", `[${i}]`).replace("[j]", `[${j}]`);

function elementOf({ name, space, shape }: TracedArray, { row, column }: Entry) {
  if (space === "global") return `${name}[${row},${column}]`;
  if (shape.length < 3) return `${name}[${row}][${column}]`;
  const rows = shape[shape.length - 2];
  return `${name}[${Math.floor(row / rows)}][${row % rows}][${column}]`;
}

const NOTHING_YET =
  "Press Play, or go one access or product at a time. Each is a bar in the strip above, in the color " +
  "of the memory that it uses; a long line is a barrier. Threads are (x, y), elements [row, column].";

/** What the last step did, in a sentence. */
export function stepWords(walkthrough: Walkthrough, seen: Seen) {
  const { now, step } = seen;
  if (!now) return NOTHING_YET;
  const before = walkthrough.steps[step - 2];
  const met = before !== undefined && before.epoch !== now.epoch;
  const wall = met ? "All threads have met at the barrier. " : "";
  if (now.fault) return `${wall}Here the launch fails: no block gets any further.`;
  const words =
    seen.who === "thread" ? threadWords(walkthrough, seen, now) : manyWords(walkthrough, seen, now);
  return `${wall}${words}`;
}

/** What one thread did. */
function threadWords(
  walkthrough: Walkthrough,
  { thread, acting }: Seen,
  { array, store, entries }: Step,
) {
  const memory = memoryName(array);
  const name = `Thread ${placeName(thread, walkthrough.trace.block)}`;
  if (!acting.length) {
    const those = new Set(entries.map((entry) => entry.thread));
    const [first] = those;
    const others =
      those.size === 1
        ? `thread ${placeName(first, walkthrough.trace.block)}`
        : `${those.size} others`;
    return `${name} does nothing here: this step is of ${others}.`;
  }
  if (array.space === "register") return `${name} adds a product to its sum.`;
  const list = listed(acting.map((entry) => elementOf(array, entry)));
  const names = [...new Set(acting.map(({ value }) => valueName(walkthrough, value)))];
  if (store && array.name !== "C") return `${name} writes ${listed(names)} to ${list}.`;
  if (store) return `${name} writes ${list} to ${memory}.`;
  const copies = array.space === "shared" ? `: ${listed(names)}` : "";
  return `${name} reads ${list} from ${memory}${copies}.`;
}

/** What a warp or a block did. */
function manyWords(walkthrough: Walkthrough, { acting }: Seen, { array, store }: Step) {
  const threads = new Set(acting.map((entry) => entry.thread)).size;
  const elements = new Set(acting.map((entry) => entry.key)).size;
  const one = threads === 1;
  const who = whoWords(acting, walkthrough.trace.block);
  if (array.space === "register") {
    return one ? `${who} adds a product to its sum.` : `${who} add a product to a sum each.`;
  }
  const does = `${store ? "write" : "read"}${one ? "s" : ""}`;
  return (
    `${who} ${does} ${plural(elements, "element")} of ${array.name} ` +
    `${store ? "to" : "from"} ${memoryName(array)}.`
  );
}

function memoryName({ space }: TracedArray) {
  return space === "shared" ? "shared memory" : "global memory";
}

/** Up to four names, or the first and the last. */
function listed(names: string[]) {
  return names.length > 4 ? `${names[0]} to ${names.at(-1)}` : names.join(", ");
}

/**
 * "Thread (1, 0)", "4 threads, (0, 0) to (3, 0)," or, where they do not follow each other, their
 * number.
 */
function whoWords(acting: Entry[], block: [across: number, down: number]) {
  const numbers = [...new Set(acting.map(({ thread }) => thread))].sort((a, b) => a - b);
  const names = numbers.map((number) => placeName(number, block));
  const [first, last] = [numbers[0], numbers[numbers.length - 1]];
  if (!names.length) return "No thread";
  if (names.length === 1) return `Thread ${names[0]}`;
  if (last - first === numbers.length - 1) {
    return `${numbers.length} threads, ${names[0]} to ${names.at(-1)},`;
  }
  if (names.length > 4) return `${numbers.length} threads`;
  return `Threads ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** The chosen thread's product, in elements and in numbers. Empty where the last step is none. */
export function productWords(
  walkthrough: Walkthrough,
  { now, acting, thread, sums }: Seen,
): [elements: string, numbers: string] {
  const entry = acting.find((one) => one.thread === thread);
  if (now?.array.space !== "register" || !entry?.factors) return ["", ""];
  const { rows, columns } = walkthrough.shares.get(thread) ?? { rows: [], columns: [] };
  const into = registerName(
    walkthrough.trace.names.sum,
    rows.indexOf(entry.row),
    columns.indexOf(entry.column),
  );
  const { A, B } = entry.factors;
  const before = sums.get(entry.key)?.before ?? 0;
  const numbers = `${figure(before)} + ${figure(A.value)} × ${figure(B.value)}`;
  return [
    `${into} += ${valueName(walkthrough, A.value)} × ${valueName(walkthrough, B.value)}`,
    `${into} = ${numbers} = ${figure(entry.value)}`,
  ];
}

/** A number of a sum; "?" where it comes of memory that nothing has written. */
const figure = (value: number | null) => (value === null ? "?" : comma(value));

/** What is wrong with the last step, or after the last one with the kernel. */
export function dangerWords(walkthrough: Walkthrough, seen: Seen) {
  const { now, racing, step, acting } = seen;
  if (now?.fault) return now.fault;
  const last = step === walkthrough.steps.length;
  const end = last ? endWords(walkthrough) : "";
  if (!now) return end;
  const wrong = acting.filter(isWrong);
  if (wrong.length) {
    const more = now.store || wrong.length < 2 ? "" : `${wrong.length - 1} more are wrong here.`;
    return [wrongWords(walkthrough, seen, now, wrong[0]), more, end].filter(Boolean).join(" ");
  }
  if (!racing.length) return end;
  const [entry] = racing;
  const place = elementOf(now.array, entry);
  if (entry.unwritten || entry.racing === undefined) return `Nothing has written ${place} yet.`;
  const other = placeName(entry.racing, walkthrough.trace.block);
  return (
    `No barrier stands between this read of ${place} and the write of thread ${other} to it: which ` +
    "comes first is chance."
  );
}

/** What a step finds, multiplies or stores, and what it should. */
function wrongWords(walkthrough: Walkthrough, { step }: Seen, now: Step, entry: Entry) {
  const { array, store } = now;
  const right = valueName(walkthrough, entry.meant);
  if (array.space === "register") {
    if (!hasWrongFactor(entry) || !entry.factors) return "The sum was wrong before already.";
    const { A, B } = entry.factors;
    return `Wrong: it should be ${valueName(walkthrough, A.meant)} × ${valueName(walkthrough, B.meant)}.`;
  }
  const place = elementOf(array, entry);
  if (store) return `Wrong: ${place} should be ${figure(entry.meant)}.`;
  const cause = causeOf(walkthrough.steps, step, entry);
  const who = `Thread ${placeName(entry.thread, walkthrough.trace.block)}`;
  const other = cause && placeName(cause.other, walkthrough.trace.block);
  const found =
    entry.value === null ? "finds nothing" : `finds ${valueName(walkthrough, entry.value)}`;
  if (!cause) return `${who} ${found} in ${place}, not ${right}.`;
  return cause.early
    ? `Too early: thread ${other} has not written ${right} to ${place} yet. ${who} ${found}.`
    : `Too late: thread ${other} has overwritten ${right} in ${place}. ${who} ${found}.`;
}

/** How the launch ends, where something is wrong with it. */
function endWords({ trace, left, steps }: Walkthrough) {
  if (!left) return trace.problems.join(" ");
  const stored = steps
    .filter(({ store, array }) => store && array.name === "C")
    .flatMap(({ entries }) => entries);
  const wrong = stored.filter(isWrong).length;
  return wrong
    ? `${wrong} of the block's ${stored.length} elements of C are wrong.`
    : `This time all elements of C come out right. ${left.problem}`;
}

/** In which order a launch without a barrier is played. */
export function orderWords({ left }: Walkthrough) {
  if (!left) return "";
  const one = left.order === "warps" ? "warp" : "thread";
  return (
    `Without the barrier of line ${left.line}, one ${one} after the other runs on to its next ` +
    "barrier, one possible order of many. Red: a wrong value. “?”: a value not written yet."
  );
}
