// A launch that host code of the file makes, and what it is for other numbers.

import type { Call } from "../simulator/simulation.ts";

export interface HostLaunch {
  call: Call;
  line: number;
  /** whether the program shows a fault of its kernel */
  isWrong?: boolean;
  /** arrays that held nothing */
  drawn: string[];
  /** whether it came to its end in the time that there was */
  isDone: boolean;
  /** of a function that was called with arguments that are made up */
  made: Made | null;
}

export interface Made {
  function: string;
  /** the whole numbers that the function was given */
  numbers: Map<string, number>;
  /** values of its template, which are usual ones: "TILE = 16" */
  template: string[];
  /** those that are sizes by their names */
  sizes: Set<string>;
  /** the kernel's arrays that are arguments of the function: their sizes are not known */
  arrays: Set<string>;
  /** the launch where it is given other numbers; null if it makes none */
  again: (numbers: Map<string, number>) => HostLaunch | null;
}

/** Distinct numbers that show which of them a kernel is given. */
const PRIMES = [1009, 2003, 3001, 4001, 5003, 6007, 7001, 8009, 9001, 10_007];

const sources = new WeakMap<Made, Map<string, string>>();
const others = new WeakMap<Made, Map<string, HostLaunch | null>>();

/** The whole numbers that a kernel is given, by its parameters' names. */
export const numbersOf = ({ call }: HostLaunch) =>
  new Map(
    [...call.args].flatMap(([name, value]): [string, number][] =>
      typeof value === "object" || !Number.isInteger(Number(value)) ? [] : [[name, Number(value)]],
    ),
  );

/** Which number of the function each of the kernel's is; what is calculated has none. */
export function sourcesOf(made: Made) {
  const known = sources.get(made);
  if (known) return known;
  const primes = new Map([...made.numbers.keys()].map((name, at) => [name, PRIMES[at] ?? 1]));
  const other = made.again(primes);
  const found = new Map<string, string>();
  for (const [name, value] of other ? numbersOf(other) : []) {
    const source = [...primes].find(([, prime]) => prime === value && prime > 1);
    if (source) found.set(name, source[0]);
  }
  sources.set(made, found);
  return found;
}

/** Whether a grid may follow from a size that the kernel is not given. */
export function hasOpenSizes(made: Made) {
  const known = [...sourcesOf(made).values()];
  return [...made.sizes].some((size) => !known.includes(size));
}

/** The launch where the kernel is given some numbers; null where that is not known. */
export function launchFor(host: HostLaunch, numbers: Map<string, number>): HostLaunch | null {
  const { made } = host;
  if (!made) {
    const own = numbersOf(host);
    return [...numbers].every(([name, value]) => own.get(name) === value) ? host : null;
  }
  const known = sourcesOf(made);
  if (hasOpenSizes(made)) return null;
  const given = new Map(made.numbers);
  for (const [name, source] of known) given.set(source, numbers.get(name) ?? 1);
  const all = others.get(made) ?? new Map<string, HostLaunch | null>();
  others.set(made, all);
  const key = JSON.stringify([...given]);
  const before = all.get(key);
  if (before !== undefined) return before;
  const found = made.again(given);
  all.set(key, found);
  return found;
}

/** The sides of a grid or a block without those of 1 at the end. */
export const trimmed = (sides: number[]) =>
  sides.slice(0, Math.max(1, sides.findLastIndex((side) => side > 1) + 1));
