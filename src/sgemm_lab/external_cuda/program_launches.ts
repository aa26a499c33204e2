// The launches that a file's own main makes: what each is given and what it asks of memory. One that
// the caller changes runs with the changed values, on the memory that the program has then.

import { type ShapedArray, WRITTEN } from "../simulator/memory.ts";
import { type Call, type LaunchTool, type Result, watchedBy } from "../simulator/simulation.ts";
import type { Struct } from "../simulator/variables.ts";
import { bankConflicts } from "./bank_conflict_sentences.ts";
import { type HostLaunch, type Made, trimmed } from "./host_launch.ts";
import type { Kernels } from "./program/launcher.ts";
import type { MadeValues } from "./program/made_values.ts";
import type { Followed } from "./program/program.ts";

/** What the caller sets in a launch. */
export interface LaunchChange {
  grid?: number[];
  block?: number[];
  sharedBytes?: number;
  /** by the names of parameters */
  numbers?: Record<string, number>;
}

/** A launch of the program; those that are given the same are one. */
export interface ProgramLaunch {
  /** with the values of its template */
  kernel: string;
  /** how many launches the program made before */
  number: number;
  times: number;
  grid: number[];
  block: number[];
  sharedBytes: number;
  numbers: [name: string, value: number][];
  arrays: [name: string, elements: number][];
  isChanged: boolean;
}

/** What the first launch of a kernel asked of memory, by line. */
export interface LaunchCounts {
  lines: Map<number, Record<string, number>>;
  /** a sentence for each line with bank conflicts */
  conflicts: Map<number, string>;
}

export const launchCounts = ({ counts, requests }: Result): LaunchCounts => ({
  lines: new Map(counts.lines.map(({ line, counts: ofLine }) => [line, ofLine])),
  conflicts: bankConflicts(requests ?? []),
});

/** A program with its launches. */
export interface Watched {
  followed: Followed;
  launches: ProgramLaunch[];
  /** by the kernel, with the values of its template */
  counts: Map<string, LaunchCounts>;
  /** the first launch of each kernel */
  calls: Map<string, HostLaunch>;
  /** it does not fill the arrays that its kernels read: what they hold is not known */
  isSketch: boolean;
}

export interface Watching {
  /** what functions are given, of a file without a main */
  made: MadeValues;
  /** whether it is known to fill no array */
  isSketch?: boolean;
  /** by the number of the launch */
  changes?: Record<number, LaunchChange>;
  /** whether memory requests are counted */
  isCounting?: boolean;
  /** hears which part of which launch is done, and how many faults were shown; null before one has ended */
  progress?: (kernel: string, number: number, done: number, faults: number | null) => void;
}

/** Most launches of a program that are listed, and elements of all arrays of one that is kept. */
const [MOST_LISTED, MOST_ELEMENTS] = [24, 2 ** 23];

/** What is wrong with a launch whatever arrays hold. */
const OF_HOST = /^(launch|host memory|stream)$/;

/**
 * Follow a program, and note its launches. It may run more than once: what counts is the first run.
 * @param run follows it, with these kernels
 */
type Follows = (kernels: Kernels) => Followed;

export function watchProgram(run: Follows, kernels: Kernels, watching: Watching): Watched {
  const first = watching.isSketch ? null : watched(run, kernels, watching, false);
  if (first && !isSketch(first)) return first;
  const other = watched(run, kernels, watching, true);
  const findings = Object.entries(other.followed.findings).map(([kernel, found]) => {
    return [kernel, found.filter(({ kind }) => OF_HOST.test(kind))];
  });
  // What it does with numbers that are not its own says nothing of it.
  const own = {
    ...{ launched: {}, findings: Object.fromEntries(findings), printed: [], status: null },
  };
  const isSettled = !other.followed.stopped || watching.made.takesAnything;
  return { ...other, followed: { ...other.followed, ...own, isSettled } };
}

function watched(run: Follows, kernels: Kernels, watching: Watching, isSketch: boolean): Watched {
  const again = (kernel: string, numbers: Map<string, number>) => {
    const other = new Recorder(kernels, { made: watching.made }, isSketch, () => null);
    watching.made.with(numbers, () => watchedBy(other, () => run(other.noticing(kernels))));
    return other.calls.get(kernel) ?? null;
  };
  const recorder = new Recorder(kernels, watching, isSketch, again);
  const own = watchedBy(recorder, () => run(recorder.noticing(kernels)));
  const { launches, counts, calls } = recorder;
  const followed = { ...own, called: [...calls.keys()] };
  return { followed, launches: [...launches.values()], counts, calls, isSketch };
}

/** Whether a program was stopped at its first launch, whose arrays hold nothing. */
function isSketch({ followed, calls }: Watched) {
  const [first] = calls.values();
  const isFirst = followed.stopped !== "" && !Object.keys(followed.launched).length && first;
  return isFirst && first.drawn.length > 0 && first.drawn.length === arraysIn(first.call).length;
}

const arraysIn = ({ args }: Call) =>
  [...args].flatMap(([name, one]) => (typeof one === "object" && "data" in one ? name : []));

/** The arrays of a call that hold nothing. */
const unfilled = (call: Call) =>
  arraysIn(call).filter((name) => {
    const one = call.args.get(name);
    return typeof one === "object" && "data" in one && one.state && !one.state.includes(WRITTEN);
  });

/** A call with zeros in the arrays that hold nothing yet. */
const filled = (call: Call) =>
  withArrays(call, (one) => {
    const { data, state } = one;
    if (!state || state.includes(WRITTEN)) return one;
    return { ...one, data: data.slice().fill(0 as never), state: state.map(() => WRITTEN) };
  });

class Recorder implements LaunchTool {
  launches = new Map<string, ProgramLaunch>();
  counts: Watched["counts"] = new Map();
  calls: Watched["calls"] = new Map();
  #names: Map<string, string>;
  #number = -1;
  /** the program runs once more */
  #isAgain = false;
  #args: Call["args"] | null = null;
  #faults: number | null = null;

  constructor(
    kernels: Kernels,
    public watching: Watching,
    public isSketch: boolean,
    public again: (kernel: string, numbers: Map<string, number>) => HostLaunch | null,
  ) {
    this.#names = new Map(
      Object.entries(kernels).map(([name, { ptx, entry }]) => [`${entry} ${ptx}`, name]),
    );
  }

  begins(call: Call): Call {
    // A launch runs a second time where its result may depend on the order of threads.
    const isAgain = this.#args === call.args;
    if (!isAgain) this.#number++;
    this.#args = call.args;
    const change = this.watching.changes?.[this.#number];
    const own = this.isSketch && !this.watching.made.isMade ? filled(call) : call;
    const changed = change ? changedCall(own, change) : own;
    if (isAgain || this.#isAgain) return changed;
    const kernel = this.#kernelOf(call);
    this.#note(kernel, changed, change !== undefined);
    const isFirst = !this.calls.has(kernel);
    if (isFirst) {
      const { line } = this.watching.made;
      const made = this.#madeOf(kernel, call);
      this.calls.set(kernel, {
        call: kept(changed),
        line,
        drawn: unfilled(call),
        made,
        isDone: false,
      });
    }
    const { isCounting, progress } = this.watching;
    const countRequests = Boolean(isCounting) && isFirst;
    const number = this.#number;
    return {
      ...changed,
      options: {
        ...changed.options,
        ...(countRequests ? { countRequests, requestsOf: [0, 0] } : {}),
        ...(progress
          ? { progress: (done, all) => progress(kernel, number, done / all, this.#faults) }
          : {}),
      },
    };
  }

  #isMade({ state }: ShapedArray) {
    return Boolean(state && this.watching.made.states.has(state));
  }

  /** What is made up of a launch, if anything. */
  #madeOf(kernel: string, call: Call): Made | null {
    const { made } = this.watching;
    if (!made.isMade) return null;
    const isMade = (name: string) => this.#isMade(call.args.get(name) as ShapedArray);
    return {
      ...{ function: made.calling?.function.name ?? "", ...made.given() },
      arrays: new Set(arraysIn(call).filter(isMade)),
      again: (numbers) => this.again(kernel, numbers),
    };
  }

  ends(call: Call, result: Result) {
    this.#faults = (this.#faults ?? 0) + result.hazards.length + result.warnings.length;
    const kernel = this.#kernelOf(call);
    const { progress } = this.watching;
    if (progress && !this.#isAgain) progress(kernel, this.#number, 1, this.#faults);
    const known = this.calls.get(kernel);
    if (known && !call.options.onlyBlocks) known.isDone = true;
    if (call.options.countRequests) this.counts.set(kernel, launchCounts(result));
  }

  /** The kernels, which a program looks up before it begins: so is seen that it begins anew. */
  noticing(kernels: Kernels): Kernels {
    return new Proxy(kernels, {
      has: (own, name) => {
        if (this.#number >= 0) this.#isAgain = true;
        this.#number = -1;
        return name in own;
      },
    });
  }

  #kernelOf({ ptx, entry }: Call) {
    return this.#names.get(`${entry} ${ptx}`) ?? entry;
  }

  #note(kernel: string, { args, options, ...call }: Call, isChanged: boolean) {
    const { sharedBytes = 0 } = options;
    const [grid, block] = [call.grid, call.block].map(trimmed);
    const numbers: [string, number][] = [];
    const arrays: [string, number][] = [];
    for (const [name, value] of args) {
      if (typeof value === "number" || typeof value === "bigint") {
        numbers.push([name, Number(value)]);
      } else if ("data" in value && !this.#isMade(value)) arrays.push([name, value.data.length]);
    }
    const key = JSON.stringify([kernel, grid, block, sharedBytes, numbers, isChanged]);
    const known = this.launches.get(key);
    if (known) known.times++;
    else if (this.launches.size < MOST_LISTED) {
      this.launches.set(key, {
        ...{ kernel, number: this.#number, times: 1, grid, block, sharedBytes },
        ...{ numbers, arrays, isChanged },
      });
    }
  }
}

/** A call with other values. */
export function changedCall(
  call: Call,
  { grid, block, sharedBytes, numbers = {} }: LaunchChange,
): Call {
  const args = new Map(call.args);
  for (const [name, value] of Object.entries(numbers)) {
    const own = args.get(name);
    if (typeof own === "bigint") args.set(name, BigInt(Math.trunc(value)));
    else if (typeof own === "number") args.set(name, value);
  }
  return {
    ...{ ...call, grid: grid ?? call.grid, block: block ?? call.block, args },
    options: { ...call.options, ...(sharedBytes === undefined ? {} : { sharedBytes }) },
  };
}

/** A call with copies of its arrays, which the program goes on to change; without any if they are too large. */
function kept(call: Call): Call {
  const states = new Map<Uint8Array, Uint8Array>();
  let elements = 0;
  const copied = (value: ShapedArray): ShapedArray => {
    const { state } = value;
    elements += value.data.length;
    if (elements > MOST_ELEMENTS) return value;
    const own = state && (states.get(state) ?? state.slice());
    if (state && own) states.set(state, own);
    return { ...value, data: value.data.slice(), state: own };
  };
  const found = withArrays(call, copied);
  return elements > MOST_ELEMENTS ? { ...found, args: new Map() } : found;
}

/** A call with other arrays, those of structs among them. */
export function withArrays(call: Call, change: (array: ShapedArray) => ShapedArray): Call {
  const args: Call["args"] = new Map();
  for (const [name, value] of call.args) {
    if (typeof value !== "object") args.set(name, value);
    else if ("data" in value) args.set(name, change(value));
    else if ("fields" in value) {
      const fields = value.fields.map(([at, own, one]): Struct["fields"][number] => [
        ...([at, own] as const),
        change(one),
      ]);
      args.set(name, { ...value, fields });
    } else args.set(name, value);
  }
  return { ...call, args };
}
